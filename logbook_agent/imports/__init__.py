"""Logs and tables that others keep, taken into a logbook: `logbook import FILE`."""
