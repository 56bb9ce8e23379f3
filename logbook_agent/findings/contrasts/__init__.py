"""Measured rows beside each other, like for like, without a verdict."""
