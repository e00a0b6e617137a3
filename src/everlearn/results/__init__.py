"""What survives of a run."""
