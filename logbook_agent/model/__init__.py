"""Frozen values of the logbook: header, entry, run, row. No I/O, no clock."""
