"""Findings as Markdown: the view, its blocks, and the templates."""
