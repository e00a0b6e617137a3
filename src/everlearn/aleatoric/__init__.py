"""What the agent keeps of the stream, and what it is worth: S0, f and r, all the designer's choice."""
