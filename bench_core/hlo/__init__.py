"""Compiled programs, read from the text that XLA writes. Importing this pulls in no JAX."""
