"""The tiles of one case: candidates, measured and confirmed, and the file that keeps the fastest."""
