"""`logbook ci`: base and head of a pull request measured in turns, and one comment that says which cases changed."""
