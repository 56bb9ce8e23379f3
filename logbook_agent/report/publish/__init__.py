"""A report that leaves this machine: as one file, as a branch, or as a Space."""
