"""Use cases: one function each, with files, processes, clock and console passed in."""
