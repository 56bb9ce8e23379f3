"""The GitHub issue: what it says, what would be written, and writing it."""
