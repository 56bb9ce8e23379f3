"""`logbook plot`, and the pictures that are kept beside a view."""
