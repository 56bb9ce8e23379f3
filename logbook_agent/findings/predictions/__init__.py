"""Predictions of a logbook, apart from all that was measured: what they say, and how they came true."""
