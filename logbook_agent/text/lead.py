"""How a text begins: what a list shows of it."""

from __future__ import annotations

import re

from logbook_agent.text.markdown import clean, inline_code, one_line

# Signs before the text of a list item, quote or heading.
_SIGNS = re.compile(r"(?:(?:[-+*]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?|#{1,6}[ \t]+|>[ \t]*)+")
_FENCE = re.compile(r"`{3,}|~{3,}")
# A line that belongs to no paragraph above it.
_BLOCK = re.compile(r"[-+*][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|>|\||`{3}|~{3}|(?:-{3,}|={3,}|\*{3,})$")


def lead(text: str) -> str:
    """The first paragraph, list item, heading or line of code of a Markdown text, on one line without the signs in
    front of it; `…` stands for more. Empty for an empty text."""
    lines = [line.strip() for line in clean(text).split("\n")]
    at = next((n for n, line in enumerate(lines) if line), None)
    if at is None:
        return ""
    if _FENCE.match(lines[at]):
        code = next((line for line in lines[at + 1 :] if line and not _FENCE.match(line)), "")
        return one_line(f"{inline_code(code)} …") if code else "…"
    end = at + 1
    if not lines[at].startswith(("#", "|")):
        while end < len(lines) and lines[end] and not _BLOCK.match(lines[end]):
            end += 1
    signs = _SIGNS.match(lines[at])
    first = lines[at][signs.end() :] if signs else lines[at]
    shown = one_line(" ".join([first, *lines[at + 1 : end]]))
    return " ".join([*([shown] if shown else []), *(["…"] if any(lines[end:]) else [])])
