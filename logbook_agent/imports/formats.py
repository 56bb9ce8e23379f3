"""The table of formats that `logbook import` reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from logbook_agent.imports import delimited, jsonl, markdown
from logbook_agent.imports.document import Document
from logbook_agent.imports.order import units_named, with_named


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFormat:
    """`parse` makes a document of a text; `fits` looks at one whose name ends in none of the `endings`."""

    parse: Callable[..., Document]
    fits: Callable[[str], bool]
    endings: tuple[str, ...]


# In the order in which they are tried.
FORMATS = {
    "jsonl": LogFormat(parse=jsonl.parse, fits=jsonl.is_jsonl, endings=(".jsonl", ".ndjson")),
    "markdown": LogFormat(parse=markdown.parse, fits=markdown.is_markdown, endings=(".md", ".markdown", ".mdx")),
    "tsv": LogFormat(parse=partial(delimited.parse, delimiter="\t"), fits=lambda text: False, endings=(".tsv", ".tab")),
    "csv": LogFormat(parse=delimited.parse, fits=delimited.is_table, endings=(".csv",)),
}


def format_of(name: str, text: str) -> str:
    """The format of a file by its name, else by its text; text without any form is Markdown."""
    by_name = next((key for key, one in FORMATS.items() if name.lower().endswith(one.endings)), None)
    return by_name or next((key for key, one in FORMATS.items() if one.fits(text)), "markdown")


def document_of(form: str, text: str, **options: Any) -> Document:
    """A text as a document, with what is odd in its numbers named."""
    found = FORMATS[form].parse(text, **options)
    return replace(found, named=with_named(found.named, units_named(found.entries)))
