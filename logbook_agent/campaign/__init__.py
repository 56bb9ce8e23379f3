"""Series of runs in one entry: the driver and its designs, which are repeats, noise, A/B and sweeps of recipes."""
