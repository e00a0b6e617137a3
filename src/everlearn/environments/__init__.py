"""What the world does: one file an environment."""
