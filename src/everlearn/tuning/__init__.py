"""Finding good parameters of an agent for tasks of one's own."""
