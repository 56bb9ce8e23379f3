"""Measured rows beside each other, like for like, without an answer."""
