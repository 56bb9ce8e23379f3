"""Comparisons that were asked for: the question, the rows it is about, the answer, and how that is said."""
