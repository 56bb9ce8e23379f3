"""`logbook criteria`: which stop criteria are met, and the judgement of a person on one of them."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import Any

from logbook_agent.errors import StoreError, UsageError
from logbook_agent.markdown.text import clean, one_line
from logbook_agent.model.codec import encode
from logbook_agent.model.header import Criterion, Header, Judgement
from logbook_agent.model.ids import parse_id
from logbook_agent.store.book import Book
from logbook_agent.store.records import parse_yaml
from logbook_agent.workflows.criteria import checked_predicate
from logbook_agent.workflows.sweep_recipes import choose_any
from logbook_agent.workflows.sync.header import change_header
from logbook_agent.workflows.workspace import Workspace

_URL = re.compile(r"https?://[^\s<>\"]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRequest:
    """The judgement on criterion `number` (from 1): met or not, as `evidence` (an ID or an address) shows."""

    number: int
    met: bool
    evidence: str | None
    by: str


def criteria(header: Header) -> list[dict[str, Any]]:
    """Each criterion with its number and whether it is met."""
    return [_line(number, criterion) for number, criterion in enumerate(header.stop_criteria, 1)]


def judge(workspace: Workspace, request: JudgeRequest) -> Book:
    """Sign a judgement. Raises UsageError for a criterion there is not, or without evidence."""
    book = workspace.book()
    _check_number(book.header, request.number)
    evidence = _evidence(book, request)
    judgement = Judgement(met=request.met, evidence=evidence, by=clean(request.by), at=workspace.stamp())
    change_header(workspace, book, lambda header: _judged(header, request.number, judgement))
    return book


def add_criterion(workspace: Workspace, text: str) -> int:
    """A further criterion; its number."""
    said = clean(text).strip()
    if not said:
        raise UsageError("an empty criterion", cause="--add has no text", hint="logbook criteria --add 'when ...'")
    book = workspace.book()
    header = change_header(
        workspace, book, lambda h: dataclasses.replace(h, stop_criteria=(*h.stop_criteria, Criterion(text=said)))
    )
    return len(header.stop_criteria)


def add_of_recipe(workspace: Workspace, name: str) -> int:
    """The criteria of a recipe, as far as the logbook has none of the same words; how many were added.

    Raises UsageError for a recipe without any.
    """
    recipe = choose_any(workspace, name, scale=None, sets=()).recipe
    if not recipe.criteria:
        raise UsageError(
            f"the recipe {name} states no criteria", cause="it has no key `criteria`", hint="logbook sweep"
        )
    checked = [
        dataclasses.replace(c, predicate=checked_predicate(c.predicate)) if c.predicate is not None else c
        for c in recipe.criteria
    ]
    book = workspace.book()
    before = len(book.header.stop_criteria)

    def changed(header: Header) -> Header:
        known = {c.text for c in header.stop_criteria}
        more = [c for c in checked if c.text not in known]
        return dataclasses.replace(header, stop_criteria=(*header.stop_criteria, *more))

    return len(change_header(workspace, book, changed).stop_criteria) - before


def set_predicate(workspace: Workspace, number: int, text: str) -> Book:
    """The predicate of criterion `number`, as YAML; an empty text takes it away. Raises UsageError for what is none."""
    book = workspace.book()
    _check_number(book.header, number)
    predicate = _predicate(text) if text.strip() else None

    def changed(header: Header) -> Header:
        _check_number(header, number)
        found = header.stop_criteria
        new = dataclasses.replace(found[number - 1], predicate=predicate)
        return dataclasses.replace(header, stop_criteria=(*found[: number - 1], new, *found[number:]))

    change_header(workspace, book, changed)
    return book


def _predicate(text: str) -> dict[str, Any]:
    try:
        data = parse_yaml(text, "--predicate")
    except StoreError as error:
        raise UsageError(
            f"the predicate cannot be read: {error.message}",
            cause=error.cause or "it is no YAML",
            hint="quote it: logbook criteria --predicate '1=measured: {runs: 3}'",
        ) from None
    return checked_predicate(data)


def _evidence(book: Book, request: JudgeRequest) -> str:
    text = clean(request.evidence or "").strip()
    if not text:
        raise UsageError(
            "no evidence",
            cause="a judgement is signed with what shows it",
            hint=f"add: --evidence {next(reversed(book.entry_ids()), f'{book.header.prefix}-000')} (or an address)",
        )
    if parse_id(text) is not None:
        return book.resolve(text)
    if _URL.fullmatch(text):
        return text
    raise UsageError(
        f"{text!r} is no evidence",
        cause="evidence is the ID of an entry, or an address that begins with https://",
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


def _judged(header: Header, number: int, judgement: Judgement) -> Header:
    _check_number(header, number)
    found = header.stop_criteria
    changed = dataclasses.replace(found[number - 1], judgement=judgement)
    return dataclasses.replace(header, stop_criteria=(*found[: number - 1], changed, *found[number:]))


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
    }
