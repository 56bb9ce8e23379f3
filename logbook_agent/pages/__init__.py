"""Findings as Markdown: the view, its blocks, the templates, and what people edited in it."""
