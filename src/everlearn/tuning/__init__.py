"""Tuning: search for good parameters of an agent on given tasks."""
