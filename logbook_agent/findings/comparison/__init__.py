"""Comparisons: how a designed question is judged, and what its one answer is."""
