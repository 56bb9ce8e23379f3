"""Recipes: workflows as data. Parsing, expanding and checking them is pure; `workflows.sweep` runs them."""
