"""Citations in a text: `[[MOE-I8-003 tflops@int8]]` until it is filled in, then
`<abbr title="[[MOE-I8-003 tflops@int8]]">106.4 TF/s</abbr>`, which GitHub shows as the number, with the citation as its
tooltip. What stands in code, in fences and in comments is not a citation.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from logbook_agent.model.entry import entry_of
from logbook_agent.model.errors import UsageError

NOT_COMPARABLE = "not comparable"
BASE, BASELINE = "base", "baseline"
_ID = r"[A-Z][A-Z0-9-]{0,60}-\d{3,9}"
_INSIDE = rf"{_ID}(?![\w-])[^\[\]<>]{{0,300}}"
_TOKEN = re.compile(
    rf"""
      (?P<fence>^[ \t>]*(?P<ticks>`{{3,}}|~{{3,}})[^\n]*(?:\n(?![ \t>]*(?P=ticks))[^\n]*)*(?:\n[^\n]*)?)
    | (?P<code>(?<!`)(?P<tick>`+)(?!`)(?:(?!\n[ \t]*\n).){{1,2000}}?(?<!`)(?P=tick)(?!`))
    | (?P<comment><!--.*?(?:-->|\Z))
    | <abbr[ ]title="\[\[(?P<cited>{_INSIDE})\]\]">(?P<shown>[^<>]{{0,300}})</abbr>
    | (?<!\\)\[\[(?P<bare>{_INSIDE})\]\]
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
# Signs of Markdown, which as entities are text: a unit is what a command printed. A colon is one within a word.
_SIGNS = re.compile(r"[][`*_~\\!]|:(?!\s)")
# Between commas, of which a quoted text may hold some.
_PARTS = re.compile(r'(?:"[^"]*"|[^,])+')
FORMS = "forms: [[ID METRIC]], [[ID METRIC@VALUE]], [[ID vs ID METRIC]], [[ID vs base METRIC]]"


class NoNumber(UsageError):
    """A citation names no number; the hint, where there is one, is the citation to write instead."""


class Citation(Struct, frozen=True, kw_only=True):
    """What is cited: a metric of rows (`reference`: `ID`, `ID/RUN` or `ID:LABEL`), or its change `against` others, the
    `base` of its own comparison, or the `baseline`. `where` narrows the rows: `int8`, `quant_mode=int8`."""

    text: str
    reference: str
    metric: str
    against: str | None = None
    where: tuple[str, ...] = ()


class CitedPlace(Struct, frozen=True, kw_only=True):
    """A citation in a text, from `start` to `end`, on a line counted from 1. `shown`: the number beside it, None until
    it is filled in."""

    start: int
    end: int
    line: int
    text: str
    shown: str | None = None


class Cited(Struct, frozen=True, kw_only=True):
    """What the record says of a citation: its `text`, empty where it says nothing; why that cannot be relied on, and
    what to write instead."""

    text: str = ""
    problems: tuple[str, ...] = ()
    hint: str = ""


class Fault(Struct, frozen=True, kw_only=True):
    """What is wrong with a citation of a text."""

    line: int
    citation: str
    problem: str


def parsed(text: str) -> Citation:
    """The citation that stands between the brackets. Raises NoNumber for another text."""
    words = text.split()
    # The value of a name may have blanks.
    named = (at for at, word in enumerate(words) if at and "@" in word and words[at - 1] != "vs")
    end = next(named, len(words) - 1)
    rest, last = " ".join(words[:end]), " ".join(words[end:])
    metric, _, where = last.partition("@")
    reference, _, against = rest.partition(" vs ")
    if not reference or not metric or rest.endswith(" vs"):
        raise NoNumber(
            f"[[{text}]] is not a citation",
            cause=f"it names no metric; {FORMS}",
            hint=f"write [[{text} METRIC]]",
        )
    if " " in entry_of(reference):
        raise NoNumber(
            f"{reference} is not an ID",
            cause=f"an ID has no spaces; {FORMS}",
            hint=f"write [[{reference.split()[0]} vs base {last}]]",
        )
    return Citation(
        text=" ".join(words),
        reference=reference,
        metric=metric,
        against=against or None,
        where=tuple(_PARTS.findall(where)),
    )


def places(text: str) -> Iterator[CitedPlace]:
    """The citations of a text, in order."""
    line, at = 1, 0
    for match in _TOKEN.finditer(text):
        cited = match["cited"] or match["bare"]
        if cited is not None:
            line, at = line + text.count("\n", at, match.start()), match.start()
            yield CitedPlace(
                start=match.start(),
                end=match.end(),
                line=line,
                text=" ".join(html.unescape(cited).split()),
                shown=None if match["shown"] is None else " ".join(html.unescape(match["shown"]).split()),
            )


def form(citation: str, number: str) -> str:
    """A citation with its number, as it stands in a file."""
    text = _SIGNS.sub(lambda sign: f"&#{ord(sign[0])};", html.escape(number, quote=False))
    return f'<abbr title="[[{html.escape(citation)}]]">{text}</abbr>'


def replaced(text: str, by: Callable[[CitedPlace], str | None]) -> str:
    """The text with each citation replaced, but for those that `by` has no text for."""
    made, at = [], 0
    for place in places(text):
        new = by(place)
        if new is not None:
            made += [text[at : place.start], new]
            at = place.end
    return "".join([*made, text[at:]])


def filled(text: str, say: Callable[[str], Cited]) -> str:
    """The text with the number of each citation; one of which the record says nothing stays as it is."""

    def number(place: CitedPlace) -> str | None:
        said = say(place.text).text
        return form(place.text, said) if said else None

    return replaced(text, number)


def checked(text: str, say: Callable[[str], Cited]) -> list[Fault]:
    """What is wrong with the citations of a text, in order."""
    faults = []
    for place in places(text):
        said = say(place.text)
        found = [*said.problems]
        if said.text and place.shown is None:
            found.append(f"not filled in; the record says {said.text}")
        elif said.text and place.shown != said.text:
            found.append(f"the text says {place.shown or 'nothing'}, the record {said.text}")
        faults += [Fault(line=place.line, citation=place.text, problem=why) for why in found]
    return faults
