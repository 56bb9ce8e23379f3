"""Jinja templates, the built-in ones and those of a user, which run confined."""
