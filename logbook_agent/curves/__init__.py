"""Curves: the points of a run's metrics over its steps."""
