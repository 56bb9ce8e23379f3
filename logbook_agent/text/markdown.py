"""Pieces of Markdown that keep what they hold: nothing inside can end the piece early.

Lines are split at "\\n" alone. Other line separators of Unicode are ordinary characters here, as they
are for the readers of Markdown.
"""

from __future__ import annotations

import re

from logbook_agent.model.values import Scalar, is_number, parse_scalar, spelt
from logbook_agent.text.shell_words import folded

# A bullet's text starts on its own line when it would otherwise be read as more than a paragraph.
_BLOCK_START = re.compile(r"\s|[-+*>|#=~`\[]|\d+[.)]\s")
# What GitHub would not show as it stands, inside a line.
_INTERPRETED = re.compile(
    r"""
      \\(?=[!-/:-@\[-`{-~])                      # a backslash that would escape
    | `
    | (?<=\S)~|~(?=\S)                          # `+0.98% ~` is safe
    | (?<!\s)\*|\*(?!\s)                        # `2 * 3` is safe
    | (?<![^\W_])(?<!_)_+|(?<!_)_+(?!\w)        # not within a word
    | <(?=[A-Za-z/!?])
    | &(?=\#?\w+;)
    | \#(?=\d)
    | (?<!\w)@(?=[A-Za-z0-9])(?!\d+\.\d)        # `@0.1` is nobody's name
    """,
    re.VERBOSE,
)
_LINK = re.compile(r"\][(\[:]|\[\^")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_LONG_COMMAND = 100
# What would begin a list with numbers.
_NUMBERED = re.compile(r"^(\d{1,9})([.)])(?=\s)")
# Signs that would make a label more than words; a label that starts with one gets a backslash.
LABEL_ESCAPED = "\\#-+*>|`<~["
# Signs before the text of a list item, quote or heading.
_SIGNS = re.compile(r"(?:(?:[-+*]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?|#{1,6}[ \t]+|>[ \t]*)+")
_FENCE = re.compile(r"`{3,}|~{3,}")
# A line that belongs to no paragraph above it.
_BLOCK = re.compile(r"[-+*][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|>|\||`{3}|~{3}|(?:-{3,}|={3,}|\*{3,})$")


def clean(text: str) -> str:
    """Text as it may stand in a record: "\\n" line ends, no control characters, no trailing blank lines.

    Surrogates (bytes that were no UTF-8) and control characters other than tab become U+FFFD.
    """
    return without_controls(text).rstrip("\n ")


def without_controls(text: str) -> str:
    """Text with "\n" line ends, and U+FFFD for surrogates and for control characters other than tab."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    """Text on one line: line ends become spaces, and no HTML comment can open in it."""
    return " ".join(clean(text).split("\n")).strip().replace("<!--", "&lt;!--")


def cut_line(text: str, characters: int) -> str:
    """Text on one line, as much of it as there is room for; what was cut ends in `…`."""
    line = one_line(text)
    return line if len(line) <= characters else line[: characters - 1] + "…"


# Where a sentence or a part of one ends.
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s")


def cut_sentence(text: str, characters: int) -> str:
    """The sentences of a text that there is room for, on one line, with `…` for the others; the first one is cut only
    where it alone is longer."""
    line = one_line(text)
    ends = [m.start() for m in _SENTENCE_END.finditer(line) if m.start() <= characters - 2]
    if len(line) <= characters or not ends:
        return cut_line(line, characters)
    return f"{line[: ends[-1]].rstrip(';')} …"


def indent(text: str) -> str:
    """Every line indented, empty lines left empty."""
    return "\n".join(f"  {line}" if line else "" for line in text.split("\n"))


def _longest_ticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def inline_code(text: str) -> str:
    """A code span that holds `text` as it is: longer backticks than any inside, padded where needed."""
    text = one_line_code(text)
    ticks = "`" * (_longest_ticks(text) + 1)
    # CommonMark strips one space on both sides, so a span that starts or ends with a backtick gets one.
    pad = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def one_line_code(text: str) -> str:
    return " ".join(clean(text).split("\n"))


def fence(text: str, language: str = "") -> str:
    """A fenced block that no line of `text` can close."""
    text = clean(text)
    ticks = "`" * max(3, _longest_ticks(text) + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def command(text: str) -> str:
    """A command as a reader copies it: a code span when short and on one line, else a bash fence, in which no line
    runs out of the page."""
    if "\n" in text or len(text) > _LONG_COMMAND:
        return fence(folded(text), "bash")
    return inline_code(text)


def bullet(label: str, text: str) -> str:
    """`- Label: text` on one line, or the text as an indented block below `- Label:`."""
    label, text = _escaped_label(label), clean(text)
    if not text:
        return f"- {label}:"
    if "\n" not in text and not _starts_block(text):
        return f"- {label}: {text}"
    return f"- {label}:\n{indent(text)}"


def _escaped_label(label: str) -> str:
    """A label that ends at the first `: `: a colon inside that would end it gets a backslash, as does a sign
    at its start; backslashes before either are doubled."""
    label = one_line(label)
    if label[:1] and label[0] in LABEL_ESCAPED:
        label = f"\\{label}"
    label = _NUMBERED.sub(r"\1\\\2", label)
    return "\\:".join(piece + piece[len(piece.rstrip("\\")) :] for piece in re.split(r":(?=[ \t])", label))


def _starts_block(text: str) -> bool:
    # A code span may follow the label; a fence may not.
    if text.startswith("`"):
        return text.startswith("```")
    return bool(_BLOCK_START.match(text))


def items(lines: list[str]) -> str:
    """A nested list: one item per text, continuation lines indented below their item."""
    return "\n".join("- " + indent(text).removeprefix("  ") for text in lines)


def escape(text: str) -> str:
    """Text on one line as a reader shall see it: nothing in it is taken for Markdown, HTML, somebody's name or
    an issue. Ordinary words and numbers stay as they are: `tokens_per_s`, `1,234.5 [1.0, 2.0]`."""
    text = _INTERPRETED.sub(_escaped, " ".join(clean(text).split("\n")).strip())
    return text.replace("[", "\\[") if _LINK.search(text) else text


# GitHub looks for `@name` and `#12` after Markdown has taken the backslashes away.
ENTITY = "&#8203;"


def _escaped(match: re.Match[str]) -> str:
    sign = match[0]
    if sign in "#@":
        return f"{sign}{ENTITY}"
    return "&lt;" if sign == "<" else "".join(f"\\{c}" for c in sign)


# A span of code, in which a backslash stands for itself; and what `escape` writes for a sign.
_SPAN = re.compile(r"(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)|\\(?P<sign>[!-/:-@\[-`{-~])|&lt;|&#8203;", re.DOTALL)


def plain(text: str) -> str:
    """A Markdown text for a terminal or a program: `escape` taken back. Its other signs stay, as they can be read."""
    signs = {"&lt;": "<", "&#8203;": ""}
    return _SPAN.sub(lambda match: match["sign"] or signs.get(match[0], match[0]), text)


def cell(text: str) -> str:
    """Text inside a table cell: as `escape`, and pipes escaped."""
    return escape(text).replace("|", "\\|")


# -- how a text begins -----------------------------------------------------------------------------


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


# -- values as cells of CSV (RFC 4180), which a spreadsheet shows and never computes ---------------


# What makes a program for spreadsheets compute a cell, or leave it: also the full-width signs, which some read alike.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_MARK = "'"


def neutral_cell(text: str) -> str:
    """A text that no spreadsheet computes: with `'` in front where it begins like a formula and is no number, or where
    such a text would begin like that behind marks of its own."""
    bare = text.lstrip(_MARK)
    return _MARK + text if bare.startswith(_FORMULA) and (bare != text or not is_number(parse_scalar(text))) else text


def csv_cell(value: Scalar) -> str:
    """A value in full precision; unknown is an empty field, empty text is `""`."""
    if not isinstance(value, str):
        return "" if value is None else spelt(value)
    # Half a surrogate pair is no text in any encoding; nothing else is changed.
    text = neutral_cell(value.encode("utf-8", "replace").decode())
    if text and text == text.strip() and not any(character in text for character in ',"\r\n;\t'):
        return text
    return '"' + text.replace('"', '""') + '"'
