"""Parts of an issue's documents: prose that is inert there and no longer than its cap, links, numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from logbook_agent.issue import neutral
from logbook_agent.issue.values import Links
from logbook_agent.text import fit
from logbook_agent.text import markdown as md
from logbook_agent.text.phrases import bounded, counted

# The bytes that a text may have; the characters of a text of one line, a title, and other words; the items of a list.
TEXT_BYTES = 4_096
LINE_CHARS, TITLE_CHARS, WORDS_CHARS = 1_000, 200, 300
MOST_ITEMS = 50
_ADDRESS = re.compile(r"https?://[^\s<>\\`|\x00-\x1f\x7f]+", re.IGNORECASE)


def is_address(text: str) -> bool:
    return _ADDRESS.fullmatch(text) is not None


def link(label: str, url: str | None) -> str:
    """A link with any words as its label; the words alone when there is no address. What is no address of the
    web is shown as it stands."""
    shown = re.sub(r"(?<!\\)([\[\]])", r"\\\1", escape(label))
    if url is None:
        return shown
    if not is_address(url):
        return f"{shown}: {md.inline_code(url)}"
    return f"[{shown}](<{url}>)" if re.search(r"[()]", url) else f"[{shown}]({url})"


def entry_link(links: Links, entry_id: str) -> str:
    """An ID, linked to where the entry stands in the pushed view."""
    return link(entry_id, links.entries.get(entry_id))


def left_out(links: Links, number: int, noun: str, plural: str) -> str:
    """`3 earlier ones in the logbook`: how many have no room, and where they are; empty for none."""
    if number <= 0:
        return ""
    where = link("in the logbook", links.view) if links.view else f"in the logbook ({links.why})"
    return f"{counted(number, noun, plural)} {where}"


def prose(text: str | None, cap: int = TEXT_BYTES) -> str:
    """Markdown by people, as much of it as there is room for; the rest is in the logbook."""
    shown = fit.shorten(md.clean(text or ""), cap)
    return _noted(neutral.contained(shown.text), shown.left_out) if text and text.strip() else ""


def shortened(text: str, cap: int) -> str:
    """Markdown that we made ourselves, as much of it as there is room for."""
    shown = fit.shorten(text.replace(md.ENTITY, neutral.ZERO_WIDTH), cap)
    return _noted(shown.text, shown.left_out)


def _noted(text: str, more: int) -> str:
    return "\n\n".join(filter(None, (text, f"*({more:,} more bytes in the logbook)*" if more else "")))


def line(text: str | None, characters: int = LINE_CHARS) -> str:
    """Markdown by people on one line; what was cut ends in `…`."""
    # Behind a word, what would open a block is text.
    return neutral.contained(f"x {md.cut_line(text or '', characters)}").removeprefix("x ")


def words(text: str, characters: int = WORDS_CHARS) -> str:
    """Plain text with nothing of Markdown in it, on one line; what was cut ends in `…`."""
    text = md.one_line_code(text)
    return text if len(text) <= characters else f"{text[: characters - 1]}…"


def header(value: Any, name: str = "") -> Any:
    """The values of a header as a template of an issue gets them: texts on one line, but for prose, and for what
    templates show as code; no long lists."""
    if isinstance(value, Mapping):
        return {key: header(of, key) for key, of in value.items()}
    if isinstance(value, list | tuple):
        found = [header(one, name) for one in value]
        return bounded(found, MOST_ITEMS) if all(isinstance(one, str) for one in found) else found
    if name in ("goal", "summary", "text", "conclusion"):
        return prose(value)
    return words(value) if name in ("case", "before", "code_refs") else line(value)


def escape(text: str) -> str:
    """Text on one line, inert in Markdown. What keeps names apart is the character, not the entity: the last pass
    over a document takes a number in an entity for one of an issue."""
    return md.escape(text).replace(md.ENTITY, neutral.ZERO_WIDTH)


def cell(text: str) -> str:
    return md.cell(text).replace(md.ENTITY, neutral.ZERO_WIDTH)
