"""Recipes: workflows as data. Parsing, expanding and checking them is pure; `sweeps.sweep` runs them."""
