"""`logbook watch` and `logbook report --serve`: a logbook looked at while runs go on. Nothing here writes to it."""
