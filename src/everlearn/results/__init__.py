"""Results of runs: in memory, as tables, and on disk."""
