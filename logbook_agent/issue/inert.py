"""Texts that are inert in an issue: they mention nobody, refer to no issue, and are no longer than their caps.

The host looks for names and references in the text that is left when the Markdown has been rendered. So a backslash,
an entity or a code span protects nothing (a mail that answers has no code spans); a space of no width, U+200B, does.

Fenced code stays as it is, so that commands can be copied, unless its language is `text`: that is output of programs.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from logbook_agent.issue.values import Links
from logbook_agent.text import fit
from logbook_agent.text import markdown as md
from logbook_agent.text.fit import Fence, fences, tokens
from logbook_agent.text.markdown import without_controls
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
    return _noted(contained(shown.text), shown.left_out) if text and text.strip() else ""


def shortened(text: str, cap: int) -> str:
    """Markdown that we made ourselves, as much of it as there is room for."""
    shown = fit.shorten(text.replace(md.ENTITY, ZERO_WIDTH), cap)
    return _noted(shown.text, shown.left_out)


def _noted(text: str, more: int) -> str:
    return "\n\n".join(filter(None, (text, f"*({more:,} more bytes in the logbook)*" if more else "")))


def line(text: str | None, characters: int = LINE_CHARS) -> str:
    """Markdown by people on one line; what was cut ends in `…`."""
    # Behind a word, what would open a block is text.
    return contained(f"x {md.cut_line(text or '', characters)}").removeprefix("x ")


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
    return md.escape(text).replace(md.ENTITY, ZERO_WIDTH)


def cell(text: str) -> str:
    return md.cell(text).replace(md.ENTITY, ZERO_WIDTH)


# -- neither names nor references ----------------------------------------------------------------------------

ZERO_WIDTH = "\u200b"

_MARKER = re.compile(r"<(?=!--[-\s]*logbook)", re.IGNORECASE)
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
# Also one that was broken before.
_AUTOLINK = re.compile(rf"<(?:https?:{ZERO_WIDTH}?//|mailto:)[^\s<>`]*>", re.IGNORECASE)

# What is live where it stands in text. After a letter or digit `@` is an e-mail address or a version.
_ISSUE = r"(?:issues|pulls?|discussions)\\?/(?=[0-9])"
_LIVE = re.compile(
    r"(?<![A-Za-z0-9])[@＠﹫](?=[A-Za-z0-9])|[#＃﹟](?=[0-9])|(?<![A-Za-z0-9])GH(?=\\?-[0-9])"
    rf"|(?<![A-Za-z0-9]){_ISSUE}|https?\\?:(?=\\?/\S{{0,300}}?/{_ISSUE})",
    re.IGNORECASE,
)
# An entity must not hide a character of a name, a reference or an address.
_ENTITY = re.compile(r"&(?=((?:#[xX][0-9a-fA-F]{1,8}|[A-Za-z][A-Za-z0-9]{1,31});))")
_HIDDEN = re.compile(r"[A-Za-z0-9@#/:.%_\-＠﹫＃﹟]")

_DECLARED = re.compile(r"(?<![A-Za-z0-9+.\-/:=?&%@#\\~])https?://[^\s<>()\[\]\"'`|*]+")
_AFTER_ADDRESS = ".,;:!?_~"


def contained(text: str) -> str:
    """Markdown by people, as a part of a document: raw HTML is shown, and a fence left open is closed. Names and
    references are left to `document`: it knows which addresses are to stay live."""
    text = without_controls(text)
    parts = []
    # HTML in it will be text.
    for part, fence in _parts(text, text.replace("<", "&")):
        parts.append(part if fence is not None else "\n".join(map(_without_html, part.split("\n"))))
        parts += [fence.closing] if fence is not None and not fence.closed else []
    return "\n".join(parts)


def log(text: str) -> str:
    """Output of a program, to stand in fenced code."""
    return _broken(without_controls(text))


def document(text: str, declared: Collection[str] = ()) -> str:
    """A whole document, as it may leave the machine; the last pass over it. Addresses in `declared` stay live where
    they stand exactly so."""
    text, known, parts = without_controls(text), frozenset(declared), []
    for part, fence in _parts(text, text):
        if fence is None:
            parts.append(_outside(part, known))
        else:
            parts.append(_broken(part) if fence.language == "text" else _dead_markers(part))
    return "\n".join(parts)


def _parts(text: str, read: str) -> Iterator[tuple[str, Fence | None]]:
    """The text in parts of whole lines, each with the fence that it is, if it is one; `read` has the same lines, as
    they are read."""
    lines, at = text.split("\n"), 0
    for fence in fences(tokens(read), lines) if "```" in text or "~~~" in text else ():
        if fence.first > at:
            yield "\n".join(lines[at : fence.first]), None
        yield "\n".join(lines[fence.first : fence.end]), fence
        at = fence.end
    if at < len(lines):
        yield "\n".join(lines[at:]), None


def _without_html(line: str) -> str:
    """A line with no tag, but for addresses in angle brackets."""
    return _TAG.sub(lambda at: "<" if _AUTOLINK.match(line, at.start()) else "<" + ZERO_WIDTH, line)


def _outside(text: str, declared: Collection[str]) -> str:
    """Text outside of fences."""
    parts, at = [], 0
    for match in _DECLARED.finditer(text) if declared else ():
        address = match[0] if match[0] in declared else match[0].rstrip(_AFTER_ADDRESS)
        if address in declared:
            parts += [_broken(_ENTITY.sub(_shown, text[at : match.start()])), address]
            at = match.start() + len(address)
    return "".join([*parts, _broken(_ENTITY.sub(_shown, text[at:]))])


def _shown(match: re.Match[str]) -> str:
    return "&" + ZERO_WIDTH if _HIDDEN.search(html.unescape("&" + match[1])) else "&"


def _dead_markers(text: str) -> str:
    return _MARKER.sub("<" + ZERO_WIDTH, text)


def _broken(text: str) -> str:
    """Text with a space of no width in each name, reference, address of an issue and marker."""
    return _LIVE.sub(rf"\g<0>{ZERO_WIDTH}", _dead_markers(text))
