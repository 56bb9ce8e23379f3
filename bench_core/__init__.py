"""Mixture-of-Experts benchmark in JAX."""
