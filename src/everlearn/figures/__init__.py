"""Tables to pictures."""
