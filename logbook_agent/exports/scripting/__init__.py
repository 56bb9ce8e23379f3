"""A block or a function of Python as a run."""
