"""The logbook on disk; `README.md` says what is where."""
