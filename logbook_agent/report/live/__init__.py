"""A logbook that is looked at while runs go on: `logbook watch` and `logbook serve`. Nothing here writes to it."""
