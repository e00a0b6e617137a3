"""Use Gymnasium environments as tasks on one endless stream, and tasks as Gymnasium environments.

Gymnasium is imported when an adapter is used; nothing else needs it.
"""
