"""The durable agent: what it has learned is on disk when ``observe`` returns, and a crash leaves no trace.

``everlearn.live`` is :func:`everlearn.durable.live.live`.
"""
