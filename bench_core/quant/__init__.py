"""Quantisation of matmul operands, and the one rounding to the case's dtype."""
