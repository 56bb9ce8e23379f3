"""Markdown as text: code spans, fences, tables, bullets, and the blocks of a view. Pure functions."""
