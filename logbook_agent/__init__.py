"""The research logbook that coding agents and ML performance researchers run their experiments through."""

__version__ = "0.1.0"
