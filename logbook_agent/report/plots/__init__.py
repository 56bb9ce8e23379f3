"""Figures as SVG, by matplotlib, which is imported here alone and only when something is drawn."""
