"""Results to numbers: regret, averages, comparisons."""
