"""Experiments: comparisons of agents on tasks that are described once, can be interrupted, and can be extended."""
