"""Compile a case for a TPU that is not there: what fits, what does not, and what the compiler made of it."""
