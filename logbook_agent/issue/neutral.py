"""Makes text inert: it mentions nobody, and refers to no issue.

The host looks for names and references in the text that is left when the Markdown has been rendered. So a backslash,
an entity or a code span protects nothing (a mail that answers has no code spans); a space of no width, U+200B, does.

Fenced code stays as it is, so that commands can be copied, unless its language is `text`: that is output of programs.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterator

from logbook_agent.text.fit import Fence, fences, tokens
from logbook_agent.text.markdown import without_controls

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

_ADDRESS = re.compile(r"(?<![A-Za-z0-9+.\-/:=?&%@#\\~])https?://[^\s<>()\[\]\"'`|*]+")
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
    for match in _ADDRESS.finditer(text) if declared else ():
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
