"""What changes the record: entries, runs, the header's baseline, and edits taken over from the view."""
