"""Starting a logbook: the header that options, a file or a recipe make."""
