"""Logbooks of a test as the product's own objects."""

from __future__ import annotations

import os
from pathlib import Path

from logbook_agent.store.book import Book
from logbook_agent.store.places import places_of


def book_of(folder: Path, topic: str = "moe") -> Book:
    """The logbook of a folder, with this user's places."""
    root = folder / "logbooks"
    return Book(root, topic, places=places_of(root, os.environ))
