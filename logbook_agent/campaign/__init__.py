"""Series of runs in one entry: what plans them, makes them and judges them. Repeats, noise, A/B and sweeps."""
