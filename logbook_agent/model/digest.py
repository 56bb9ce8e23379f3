"""A digest of what was recorded, so that a change is known without rendering anything."""

from __future__ import annotations

import hashlib
import json

from logbook_agent.model.codec import encode
from logbook_agent.model.record import Record

DIGITS = 16


def digest(*parts: object) -> str:
    """Of plain data; equal data have equal digests, whatever the order of their keys."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:DIGITS]


def record_digest(record: Record) -> str:
    """Of an entry, its runs and the state that follows from them."""
    return digest(encode(record.entry), [encode(s.run) for s in record.runs], record.state)
