"""The same work on many machines, by Dask; nothing else knows of it."""
