"""Jinja templates, the built-in ones and those of a project, which run in a sandbox."""
