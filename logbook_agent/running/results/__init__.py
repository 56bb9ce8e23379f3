"""Rows of measurements from what a command prints or writes. Pure."""
