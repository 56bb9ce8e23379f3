"""Makes text inert: it mentions nobody, and refers to or closes no issue.

The host looks for names and references in the text that is left when the Markdown has been rendered. So a backslash,
an entity or a code span protects nothing (a mail that answers has no code spans); a space of no width, U+200B, does.

Fenced code stays as it is, so that commands can be copied, unless its language is `text`: that is output of programs.
To be sure that the host takes the same lines for fenced code as we do, every other line that could start or end some
is broken too, and so is what could swallow lines: raw HTML, and definitions of footnotes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Sequence

from logbook_agent.text.fit import PREFIX, Fence, fences, tokens
from logbook_agent.text.markdown import without_controls

ZERO_WIDTH = "\u200b"
_ROUNDS = 4  # attempts to have all readings agree on what is fenced, before nothing is

_FENCE_LIKE = re.compile(rf"(?m)^({PREFIX})(?=`{{3,}}[^`\n]*$|~{{3,}})")
_FOOTNOTE = re.compile(rf"(?m)^({PREFIX}\[)(?=\^[^\[\]\n]{{1,1000}}\]:)")
_MARKER = re.compile(r"<(?=!--[-\s]*logbook)", re.IGNORECASE)

_TAG = re.compile(r"<(?=[A-Za-z/!?])")
# Also one that was broken before.
_AUTOLINK = re.compile(rf"<(?:https?:{ZERO_WIDTH}?//|mailto:)[^\s<>`]*>", re.IGNORECASE)

# Characters that a name, reference or address is made of; an entity must not hide one.
_ENTITY = re.compile(r"&(?=((?:#[xX][0-9a-fA-F]{1,8}|[A-Za-z][A-Za-z0-9]{1,31});))")
_HIDDEN = re.compile(r"[A-Za-z0-9@#/:.%_\-＠﹫＃﹟]")
# After a letter or digit it is an e-mail address or a version, unless what follows looks like a commit.
_NAME = re.compile(r"(?:(?<![A-Za-z0-9])[@＠﹫](?=[A-Za-z0-9])|@(?=[0-9A-Fa-f]{7,64}(?![A-Za-z0-9])))")
_NUMBER = re.compile(r"[#＃﹟](?=[0-9])")
_GH = re.compile(r"(?<![A-Za-z0-9])GH(?=\\?-[0-9])", re.IGNORECASE)

# Where a link leads to, and an address. The next link starts a new one.
_REST = r"(?:[^\s<\]]|\](?!\())*"
_TARGET = re.compile(rf"\](?:\(|:)\s*<?{_REST}")
_ADDRESS = re.compile(rf"(?:https?\\?:(?=\\?/)|www(?=\\?\.)){_REST}", re.IGNORECASE)
_SCHEME = re.compile(r"https?\\?:(?=\\?/)|www(?=\\?\.)", re.IGNORECASE)
_HOST = re.compile(r"(?<![A-Za-z0-9-])github(?=\\?\.com(?![A-Za-z0-9-]))", re.IGNORECASE)
_BARE_HOST = re.compile(r"(?<![A-Za-z0-9-])github(?=\\?\.com\\?[/:?#])", re.IGNORECASE)
_PATH = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:issues|pulls?|discussions)\\?/(?=[0-9])|commits?\\?/(?=[0-9A-Fa-f]{7})|compare\\?/(?=\S))",
    re.IGNORECASE,
)
_ESCAPED = re.compile(r"%(?=3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa])")

_DECLARED = re.compile(r"(?<![A-Za-z0-9+.\-/:=?&%@#\\~])https?://[^\s<>()\[\]\"'`|*]+")
_AFTER_ADDRESS = ".,;:!?_~"
_KEYWORD = re.compile(r"(?i)(?:\b|_)(?:c(?=lose[sd]?)|f(?=ix(?:es|ed)?)|r(?=esolve[sd]?))(?=[a-z]+:?[\s(<*_~\[]*$)")
_KEYWORD_REACH = 40


def contained(text: str) -> str:
    """Markdown by people, as a part of a document: raw HTML is shown, and a fence left open is closed. Names and
    references are left to `document`: it knows which addresses are to stay live."""
    lines, found = _read(without_controls(text), html=False)
    parts, at = [], 0
    for fence in found:
        parts += [*map(_without_html, lines[at : fence.first]), *lines[fence.first : fence.end]]
        parts += [] if fence.closed else [fence.closing]
        at = fence.end
    return "\n".join([*parts, *map(_without_html, lines[at:])])


def log(text: str) -> str:
    """Output of a program, to stand in fenced code."""
    return _dead_markers(_broken(without_controls(text)))


def document(text: str, declared: Collection[str] = ()) -> str:
    """A whole document, as it may leave the machine; the last pass over it. Addresses in `declared` stay live where
    they stand exactly so."""
    lines, found = _read(without_controls(text), html=True)
    parts, at, known = [], 0, frozenset(declared)
    for fence in found:
        parts += _outside(lines[at : fence.first], known)
        inner = "\n".join(lines[fence.first : fence.end])
        parts.append(_dead_markers(_broken(inner) if fence.language == "text" else inner))
        at = fence.end
    return "\n".join([*parts, *_outside(lines[at:], known)])


def _read(text: str, *, html: bool) -> tuple[list[str], list[Fence]]:
    """The lines of a text, and its fenced code that is beyond doubt. Lines that look like a fence but are none by every
    reading are broken, until all readings agree: with tables and without, since where one starts is what readers differ
    in most. Without `html` it is text."""
    for attempt in range(_ROUNDS + 1):
        lines, likely = text.split("\n"), _fence_like(text)
        if not likely:
            break
        masked = text if html else text.replace("<", "&")
        plain = {(f.first, f.end) for f in fences(tokens(masked, tables=False), lines)}
        agreed = [f for f in fences(tokens(masked), lines) if (f.first, f.end) in plain] if attempt < _ROUNDS else []
        fenced = {line for f in agreed for line in range(f.first, f.end)}
        doubtful = {line: at for line, at in likely.items() if line not in fenced}
        if not doubtful:
            return lines, agreed
        for line, at in doubtful.items():
            lines[line] = lines[line][:at] + ZERO_WIDTH + lines[line][at:]
        text = "\n".join(lines)
    return text.split("\n"), []


def _without_html(line: str) -> str:
    """A line with no tag, but for addresses in angle brackets."""
    return _TAG.sub(lambda at: "<" if _AUTOLINK.match(line, at.start()) else "<" + ZERO_WIDTH, line)


def _fence_like(text: str) -> dict[int, int]:
    """By line, where in it fenced code could start or end."""
    if "```" not in text and "~~~" not in text:
        return {}
    found, line, at = {}, 0, 0
    for match in _FENCE_LIKE.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        found[line] = len(match[1])
    return found


def _outside(lines: Sequence[str], declared: Collection[str]) -> list[str]:
    """The lines outside fences, as one text; none when there are none."""
    if not lines:
        return []
    text = _dead_markers(_FOOTNOTE.sub(rf"\1{ZERO_WIDTH}", "\n".join(lines)))
    parts, at = [], 0
    for match in _DECLARED.finditer(text) if declared else ():
        address = match[0] if match[0] in declared else match[0].rstrip(_AFTER_ADDRESS)
        if address in declared:
            before = _broken(_ENTITY.sub(_shown, text[at : match.start()]))
            parts += [_no_keyword(before), address]
            at = match.start() + len(address)
    return ["".join([*parts, _broken(_ENTITY.sub(_shown, text[at:]))])]


def _no_keyword(before: str) -> str:
    """The text before a live address, without a keyword that would close what it leads to."""
    tail = before[-_KEYWORD_REACH:]
    return before[: len(before) - len(tail)] + _KEYWORD.sub(rf"\g<0>{ZERO_WIDTH}", tail)


def _shown(match: re.Match[str]) -> str:
    return "&" + ZERO_WIDTH if _HIDDEN.search(html.unescape("&" + match[1])) else "&"


def _dead_markers(text: str) -> str:
    return _MARKER.sub("<" + ZERO_WIDTH, text)


def _broken(text: str) -> str:
    """Text with a space of no width in each name, reference and address that would be live."""
    text = _ADDRESS.sub(_broken_address, _TARGET.sub(_broken_address, text))
    for pattern in (_BARE_HOST, _NAME, _NUMBER, _GH):
        text = pattern.sub(rf"\g<0>{ZERO_WIDTH}", text)
    return text


def _broken_address(match: re.Match[str]) -> str:
    text = match[0]
    live = [p for p in (_HOST, _PATH, _ESCAPED) if p.search(text)]
    for pattern in [*live, _SCHEME] if live else []:
        text = pattern.sub(rf"\g<0>{ZERO_WIDTH}", text)
    return text
