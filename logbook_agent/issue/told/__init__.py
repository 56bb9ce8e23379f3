"""What the issue says: its body and one comment for each entry, as values and as Markdown."""
