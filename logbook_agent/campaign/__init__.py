"""Series of runs in one entry: recipes, sweeps, stages and A/B."""
