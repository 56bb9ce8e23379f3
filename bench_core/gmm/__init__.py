"""Grouped matmul: one protocol (`base`), one file per backend, one table (`registry`)."""
