"""The golden documents as GitHub reads them: every table is a table, every fence closes, nothing leaks out."""

from __future__ import annotations

from pathlib import Path

import pytest
from markdown_it import MarkdownIt

DOCUMENTS = sorted(p for p in Path(__file__).resolve().parent.glob("*.md"))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.stem)
def test_document_is_sound_markdown(path: Path) -> None:
    text = path.read_text()
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    prose = [t.content for t in tokens if t.type == "inline"]
    assert not [t for t in prose if "| ---" in t or "```" in t or "<!--" in t]
    fences = [t.content for t in tokens if t.type == "fence"]
    assert not [t for t in fences if "- Config:" in t or "<!-- logbook" in t], "a fence swallowed what follows"
    assert sum(t.type == "table_open" for t in tokens) == text.count("---: |\n")
    markers = [t.content.strip() for t in tokens if t.type == "html_block"]
    assert markers == [line for line in text.split("\n") if line.startswith("<!-- logbook:")]
    top = [t for t in tokens if t.type == "heading_open" and t.level == 0]
    assert [t.tag for t in top].count("h3") == text.count("\n### 2026-")
