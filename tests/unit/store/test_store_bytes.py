"""Bytes that are no UTF-8, in arguments, values and names: executed as they are, recorded escaped, shown."""

from __future__ import annotations

import pytest

from logbook_agent.model.codec import utf8


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a\udcffb", r"a\xffb"),
        ("\ud800", r"\ud800"),
        ("\udc00", r"\udc00"),
        ("é😀", "é😀"),
        ("", ""),
        ("plain", "plain"),
    ],
)
def test_text_that_every_file_can_hold(text: str, kept: str) -> None:
    assert utf8(text) == kept
    kept.encode()
