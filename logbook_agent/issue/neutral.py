"""Makes text inert: it mentions nobody, and refers to or closes no issue.

The host looks for names and references in the text that is left when the Markdown has been rendered. So a backslash,
an entity or a code span protects nothing (a mail that answers has no code spans); a space of no width, U+200B, does.

Fenced code stays as it is, so that commands can be copied, unless its language is `text`: that is output of programs.
To be sure that the host takes the same lines for fenced code as we do, every other line that could start or end some
is broken too, and so is what could swallow lines: raw HTML, and definitions of footnotes.
"""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from markdown_it.token import Token

from logbook_agent.text.fit import PREFIX, Fence, code_spans, fences, inside, tokens
from logbook_agent.text.markdown import without_controls

ZERO_WIDTH = "\u200b"
_ROUNDS = 4  # attempts to have all readings agree on what is fenced, before nothing is

_FENCE_LIKE = re.compile(rf"(?m)^({PREFIX})(?=`{{3,}}[^`\n]*$|~{{3,}})")
_FOOTNOTE = re.compile(rf"(?m)^({PREFIX}\[)(?=\^[^\[\]\n]{{1,1000}}\]:)")
_MARKER = re.compile(r"<(?=!--[-\s]*logbook)", re.IGNORECASE)

_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_MARGIN = re.compile(PREFIX)
# Also one that was broken before.
_AUTOLINK = re.compile(rf"<(?:https?:{ZERO_WIDTH}?//|mailto:)[^\s<>`]*>", re.IGNORECASE)
_OURS = re.compile(r"</?(?:details|summary)>")
_NOT_OURS = re.compile(r"<(?!/?(?:details|summary)>)")
_BREAK = "<br>"

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


def prose(text: str) -> str:
    """Markdown by people, as a value of a template: raw HTML is shown, and a fence left open is closed."""
    return _Reading.of(without_controls(text), tags=False).written(frozenset(), output=False, close=True)


def contained(text: str) -> str:
    """As `prose`, with names and references left to `document`: it knows which addresses are to stay live."""
    return _Reading.of(without_controls(text), tags=False).written(
        frozenset(), output=False, close=True, references=False
    )


def log(text: str) -> str:
    """Output of a program, to stand in fenced code."""
    return _dead_markers(_broken(without_controls(text)))


def document(text: str, declared: Collection[str] = ()) -> str:
    """A whole document, as it may leave the machine; the last pass over it.

    Addresses in `declared` stay live where they stand exactly so. Of HTML there stay <details>, <summary> and,
    within a line, <br>.
    """
    return _Reading.of(without_controls(text), tags=True).written(frozenset(declared), output=True, close=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """Text whose fenced code is beyond doubt."""

    text: str
    lines: Sequence[str]
    fences: Sequence[Fence]
    found: Sequence[Token]
    tags: bool

    @classmethod
    def of(cls, text: str, *, tags: bool) -> _Reading:
        """Lines that look like a fence but are none by every reading are broken, until all readings agree.

        Where a table starts is what readers differ in most; so it is read with tables and without.
        """
        for attempt in range(_ROUNDS + 1):
            lines = text.split("\n")
            # Raw HTML will have been escaped when the host reads this.
            masked = _NOT_OURS.sub("&", text) if tags else text.replace("<", "&")
            likely = _fence_like(text)
            found = tokens(masked) if likely or "<" in text else ()
            if not likely:
                return cls(text=text, lines=lines, fences=(), found=found, tags=tags)
            plain = {(f.first, f.end) for f in fences(tokens(masked, tables=False), lines)}
            agreed = [f for f in fences(found, lines) if (f.first, f.end) in plain]
            if attempt == _ROUNDS:
                agreed = []
            fenced = {line for f in agreed for line in range(f.first, f.end)}
            doubtful = {line: at for line, at in likely.items() if line not in fenced}
            if not doubtful:
                break
            for line, at in doubtful.items():
                lines[line] = lines[line][:at] + ZERO_WIDTH + lines[line][at:]
            text = "\n".join(lines)
        else:
            return cls.of(text, tags=tags)
        return cls(text=text, lines=lines, fences=agreed, found=found, tags=tags)

    def written(self, declared: Collection[str], *, output: bool, close: bool, references: bool = True) -> str:
        """`output`: whether fences of program output are neutralised as well; `references`: whether what is
        outside of fences is."""
        parts: list[str] = []
        html_dead = self._html_dead()
        outside = functools.partial(_outside, html_dead, declared=declared) if references else _lines(html_dead)
        at = 0
        for fence in self.fences:
            parts += outside(at, fence.first)
            inner = "\n".join(self.lines[fence.first : fence.end])
            parts.append(_dead_markers(_broken(inner) if output and fence.language == "text" else inner))
            if close and not fence.closed:
                parts.append(fence.closing)
            at = fence.end
        parts += outside(at, len(self.lines))
        return "\n".join(parts)

    def _html_dead(self) -> list[str]:
        """The lines, with no HTML left outside fences but what may stay."""
        if "<" not in self.text:
            return list(self.lines)
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line) + 1)
        spans, raw = self._spans(starts)
        fenced = {line for f in self.fences for line in range(f.first, f.end)}
        result = []
        for number, line in enumerate(self.lines):
            if number in fenced or "<" not in line:
                result.append(line)
                continue
            pieces, at = [], 0
            prefix = _MARGIN.match(line)
            margin = prefix.end() if prefix else 0
            for tag in _TAG.finditer(line):
                first = tag.start() == margin
                code = inside(spans, starts[number] + tag.start())
                pieces += [line[at : tag.start()], self._tag(line, tag.start(), first, code, number in raw)]
                at = tag.end()
            result.append("".join([*pieces, line[at:]]))
        return result

    def _tag(self, line: str, at: int, first: bool, code: bool, raw: bool) -> str:
        """What stands for the "<" there. `first` in its line it may start a block, whatever stands around it."""
        if self.tags and _OURS.match(line, at) and not (first and code):
            return "<"
        if code and not raw:
            return "<" + ZERO_WIDTH if first else "<"
        if self.tags and not first and line.startswith(_BREAK, at):
            return "<"
        return "<" if not raw and _AUTOLINK.match(line, at) else "&lt;"

    def _spans(self, starts: Sequence[int]) -> tuple[list[tuple[int, int]], set[int]]:
        """Where code spans are, and the lines of raw HTML, where there are none."""
        spans: list[tuple[int, int]] = []
        raw: set[int] = set()
        row = -1
        for token in self.found:
            if token.type == "html_block" and token.map:
                raw.update(range(*token.map))
            elif token.type == "tr_open" and token.map:
                row = token.map[0]
                spans += _cells(self.text, starts[row], starts[row + 1] - 1)
            elif token.type == "inline" and token.map and token.map[0] > row:
                spans += code_spans(self.text, starts[token.map[0]], starts[token.map[1]] - 1)
        return sorted(spans), raw


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


def _cells(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Code spans of a row of a table; none reaches over a cell's end."""
    at = start
    for bar in [*(m.start() for m in re.compile(r"(?<!\\)\|").finditer(text, start, end)), end]:
        yield from code_spans(text, at, bar)
        at = bar + 1


def _lines(lines: Sequence[str]) -> Callable[[int, int], Sequence[str]]:
    return lambda first, end: lines[first:end]


def _outside(lines: Sequence[str], first: int, end: int, declared: Collection[str]) -> list[str]:
    """The lines outside fences, as one text; none when there are none."""
    if first >= end:
        return []
    text = _FOOTNOTE.sub(rf"\1{ZERO_WIDTH}", "\n".join(lines[first:end]))
    text = _dead_markers(text)
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
