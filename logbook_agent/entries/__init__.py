"""What changes the record: entries, runs, the header from its start on, and edits taken over from the view."""
