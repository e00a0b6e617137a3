"""Comparisons that are described once, survive anything, and can be added to."""
