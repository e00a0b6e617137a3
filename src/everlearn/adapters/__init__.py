"""Gymnasium, both ways: its environments as tasks on one endless stream, and tasks as its environments.

Gymnasium is imported when an adapter is used, and nothing else needs it.
"""
