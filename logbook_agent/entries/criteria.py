"""`logbook criteria`: which stop criteria are met, and the judgement of a person on one of them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from logbook_agent.findings.criteria.predicate import checked_predicate
from logbook_agent.findings.read import read
from logbook_agent.model.codec import encode
from logbook_agent.model.entry import is_withdrawn, parse_id
from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.model.header import Criterion, CriterionJudgement, Header
from logbook_agent.pages.views import changing
from logbook_agent.store.book import Book
from logbook_agent.store.parse import parse_yaml
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import clean, one_line

Step = Callable[[Header], Header]

_URL = re.compile(r"https?://[^\s<>\"]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRequest:
    """The judgement on criterion `number` (from 1): met or not, as `evidence` (an ID or an address) shows."""

    number: int
    met: bool
    evidence: str | None
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CriteriaRequest:
    """What is to change: those of a recipe and one in words are added, then a predicate is set (number and YAML; None
    stands for the criterion that is added), then one is judged."""

    of_recipe: Sequence[Criterion] = ()
    add: str | None = None
    predicate: tuple[int | None, str] | None = None
    judgement: JudgeRequest | None = None


def criteria(header: Header) -> list[dict[str, Any]]:
    """Each criterion with its number and whether it is met."""
    return [_line(number, criterion) for number, criterion in enumerate(header.stop_criteria, 1)]


def change_criteria(workspace: Workspace, book: Book, request: CriteriaRequest) -> None:
    """Everything that is asked for in one write, or nothing: it is checked before. Raises UsageError."""
    steps: list[Step] = []
    if request.of_recipe:
        steps.append(_add_lacking(request.of_recipe))
    if request.add is not None:
        steps.append(_add(request.add))
    if request.predicate is not None:
        steps.append(_set_predicate(*request.predicate))
    if request.judgement is not None:
        if not steps:
            _check_number(book.header, request.judgement.number)
        steps.append(_judge(workspace, book, request.judgement))

    def changed(header: Header) -> Header:
        for step in steps:
            header = step(header)
        return header

    if steps:
        with changing(workspace, book):
            book.change_header(changed)


def _judge(workspace: Workspace, book: Book, request: JudgeRequest) -> Step:
    """A signed judgement; there must be evidence."""
    evidence = _evidence(workspace, book, request)
    judgement = CriterionJudgement(met=request.met, evidence=evidence, by=clean(request.by), at=workspace.stamp())
    return lambda header: _replaced(header, request.number, lambda c: dataclasses.replace(c, judgement=judgement))


def _add(text: str) -> Step:
    """A further criterion."""
    said = clean(text).strip()
    if not said:
        raise UsageError("an empty criterion", cause="--add has no text", hint="logbook criteria --add 'when ...'")
    return lambda h: dataclasses.replace(h, stop_criteria=(*h.stop_criteria, Criterion(text=said)))


def _add_lacking(criteria: Sequence[Criterion]) -> Step:
    """Further criteria, as far as the logbook has none of the same words."""

    def changed(header: Header) -> Header:
        known = {c.text for c in header.stop_criteria}
        more = [c for c in criteria if c.text not in known]
        return dataclasses.replace(header, stop_criteria=(*header.stop_criteria, *more))

    return changed


def _set_predicate(number: int | None, text: str) -> Step:
    """The predicate of a criterion (None: the last) as YAML; an empty text takes it away."""
    predicate = _predicate(text) if text.strip() else None
    return lambda header: _replaced(header, number, lambda c: dataclasses.replace(c, predicate=predicate))


def _predicate(text: str) -> dict[str, Any]:
    try:
        data = parse_yaml(text, "--predicate")
    except StoreError as error:
        raise UsageError(
            f"the predicate cannot be read: {error.message}",
            cause=error.cause or "it is not valid YAML",
            hint="quote it: logbook criteria --predicate '1=measured: {runs: 3}'",
        ) from None
    return checked_predicate(data)


def _evidence(workspace: Workspace, book: Book, request: JudgeRequest) -> str:
    text = clean(request.evidence or "").strip()
    if not text:
        found = read(workspace, book).header.stop_criteria[request.number - 1 : request.number]
        runs = [run for c in found if c.computed is not None for run in c.computed.evidence]
        shown = runs[-1].rpartition("/")[0] if runs else "ID"
        raise UsageError(
            "no evidence",
            cause="a judgement needs evidence: the ID of an entry, or an address",
            hint=f"add: --evidence {shown}" + (" (logbook list shows the IDs)" if shown == "ID" else ""),
        )
    if parse_id(text) is not None:
        entry_id = book.resolve(text)
        if is_withdrawn(state := book.entry(entry_id).state):
            raise UsageError(
                f"{entry_id} is {state}, so it is not evidence",
                cause="someone withdrew it",
                hint="name another entry: logbook list",
            )
        return entry_id
    if _URL.fullmatch(text):
        return text
    raise UsageError(
        f"{text!r} is not evidence",
        cause="evidence is the ID of an entry, or a URL that begins with https://",
        hint="write it down first: logbook note --title '...'; then name its ID",
    )


def _check_number(header: Header, number: int) -> None:
    found = header.stop_criteria
    if not 1 <= number <= len(found):
        raise UsageError(
            f"no stop criterion {number}",
            cause=f"there are {len(found)}, numbered from 1" if found else "this logbook has none",
            hint="logbook criteria",
        )


def _replaced(header: Header, number: int | None, change: Callable[[Criterion], Criterion]) -> Header:
    """With another criterion in the place of one; None: of the last."""
    found = header.stop_criteria
    at = len(found) if number is None else number
    _check_number(header, at)
    return dataclasses.replace(header, stop_criteria=(*found[: at - 1], change(found[at - 1]), *found[at:]))


def _line(number: int, criterion: Criterion) -> dict[str, Any]:
    judgement, computed = criterion.judgement, criterion.computed
    return {
        "number": number,
        "text": one_line(criterion.text),
        "met": criterion.met,
        "evidence": judgement.evidence if judgement is not None else None,
        "by": judgement.by if judgement is not None else None,
        "at": judgement.at if judgement is not None else None,
        "computed": encode(computed) if computed is not None else None,
        "doubt": criterion.doubt,
    }
