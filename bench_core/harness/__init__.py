"""One case: inputs -> check against the oracle -> measure -> record."""
