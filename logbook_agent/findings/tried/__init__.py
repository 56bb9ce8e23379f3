"""What was tried before: the commands of entries, what came of them, and how that is said."""
