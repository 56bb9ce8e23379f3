"""Timing of one compiled program, every stage apart."""
