"""What changes the record: entries, runs, and the header from its start on."""
