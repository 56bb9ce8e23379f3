"""What commands show on a terminal alone: live lines, folded machine lines, tables. Rich is imported here and nowhere
else in `cli`; elsewhere this folder is imported only once a stream is known to be a terminal."""
