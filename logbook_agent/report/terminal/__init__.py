"""What commands show on a terminal alone: live lines, folded machine lines, tables."""
