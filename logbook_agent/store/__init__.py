"""The logbook on disk: one file per entry and per run, atomic writes, exclusive IDs, the view."""
