"""Findings as HTML: a self-contained page for each logbook, and an index over them. Pages decide nothing."""
