"""Recipes: workflows as data. Parsing, expanding and checking them is pure; `campaign.sweep` runs them."""
