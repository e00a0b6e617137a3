"""Exact computation on a task's pairs: no sampling, and every number with its error."""
