"""Making environment and agent meet: the reference loop, the times at which it records, and the runner."""
