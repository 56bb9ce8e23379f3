"""The version, alone: what writes records imports it without the package's own names."""

__version__ = "0.1.0"
