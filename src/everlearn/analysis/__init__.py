"""Statistics of results: measures, regret, intervals and comparisons."""
