"""What the agent keeps of the stream and what it earns: the designer's choices of S0, f and r."""
