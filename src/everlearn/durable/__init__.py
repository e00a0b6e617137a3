"""The durable agent: every observation is on disk when ``observe`` returns, so that a crash loses nothing.

``everlearn.live`` is :func:`everlearn.durable.live.live`.
"""
