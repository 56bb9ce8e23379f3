"""`logbook criteria`: which stop criteria are met, and the judgement of a person on one of them."""

from __future__ import annotations

import getpass
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from logbook_agent.entries.header import change_header
from logbook_agent.entries.stated import parse_budget
from logbook_agent.findings.criteria.predicate import checked_predicate, form_of
from logbook_agent.findings.read import Findings, read
from logbook_agent.model.codec import encode
from logbook_agent.model.comparison import OF_CODE
from logbook_agent.model.entry import is_withdrawn, parse_id, typed_id
from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.model.header import Criterion, CriterionJudgement, Header
from logbook_agent.pages.views import changing
from logbook_agent.store.book import Book
from logbook_agent.store.parse import parse_yaml
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import clean, one_line

_URL = re.compile(r"https?://[^\s<>\"]+")


class JudgeRequest(Struct, frozen=True, kw_only=True):
    """The judgement on criterion `number` (from 1): met or not, as `evidence` (an ID or an address) shows."""

    number: int
    met: bool
    evidence: str | None
    by: str


class CriteriaRequest(Struct, frozen=True, kw_only=True):
    """What is to change: one in words is added, then a predicate is set (number and YAML; None stands for the criterion
    that is added), then one is judged, then the one with the number `drop` is removed. With a `reason` the change is a
    decision in the log. `fixed`: the predicate to type where it names code that changes."""

    add: str | None = None
    predicate: tuple[int | None, str] | None = None
    fixed: str = ""
    judgement: JudgeRequest | None = None
    drop: int | None = None
    budget: Sequence[str] = ()
    reason: str | None = None


def criteria_data(book: Book, thread: Findings) -> dict[str, object]:
    """The answer of `criteria` for machines: each criterion, whether all are met, and what is spent of the budget."""
    stated = thread.header.stop_criteria
    found = [_line(number, criterion) for number, criterion in enumerate(stated, 1)]
    met = all(criterion.met for criterion in stated)
    return {"logbook": book.topic, "met": met, "criteria": found, "budget": thread.budget or None}


def judge_name(environ: Mapping[str, str]) -> str:
    """The name of the user, who judges. Raises UsageError where the system has none."""
    try:
        return environ.get("GIT_AUTHOR_NAME") or getpass.getuser()
    except (KeyError, OSError):
        raise UsageError(
            "no name to sign the judgement with", cause="the system has no name for this user", hint="add: --by NAME"
        ) from None


def change_criteria(
    workspace: Workspace, book: Book, request: CriteriaRequest, tagged: Callable[[str], str] = lambda _: ""
) -> None:
    """Everything that is asked for in one write, or nothing: it is checked before. `tagged`: the commit of a tag, empty
    for other names. Raises UsageError."""
    if request == CriteriaRequest():
        return
    judged, text = request.judgement, clean(request.add or "").strip()
    if request.add is not None and not text:
        raise UsageError(
            "the criterion has no text", cause="the text after --add is empty", hint="logbook criteria --add 'when ...'"
        )
    predicate = _predicate(request.predicate[1], request.fixed, tagged) if request.predicate is not None else None
    judgement = None
    if judged is not None:
        if structs.replace(request, judgement=None) == CriteriaRequest():
            _check_number(book.header.stop_criteria, judged.number)
        evidence = _evidence(workspace, book, judged)
        judgement = CriterionJudgement(met=judged.met, evidence=evidence, by=clean(judged.by), at=workspace.stamp())

    def changed(header: Header) -> Header:
        found = [*header.stop_criteria]
        found += [Criterion(text=text)] if text else []
        if request.predicate is not None:
            at = _check_number(found, request.predicate[0])
            found[at] = structs.replace(found[at], predicate=predicate)
        if judged is not None:
            at = _check_number(found, judged.number)
            found[at] = structs.replace(found[at], judgement=judgement)
        if request.drop is not None:
            del found[_check_number(found, request.drop)]
        budget = parse_budget(request.budget, header.limits) if request.budget else header.budget
        return structs.replace(header, stop_criteria=tuple(found), budget=budget)

    if request.reason is not None or _replaces(book.header.stop_criteria, request):
        change_header(workspace, book, changed, what=_what(book.header.stop_criteria, request), reason=request.reason)
        return
    with changing(workspace, book):
        book.change_header(changed)


def _replaces(found: Sequence[Criterion], request: CriteriaRequest) -> bool:
    """Whether a criterion that stands is dropped, or checked in another way."""
    if request.drop is not None:
        return True
    number = request.predicate[0] if request.predicate is not None else None
    return number is not None and 1 <= number <= len(found) and found[number - 1].predicate is not None


def _what(found: Sequence[Criterion], request: CriteriaRequest) -> str:
    """The change in words."""
    said = [f"stop criterion {request.add}"] if request.add is not None else []
    if request.predicate is not None and request.add is None:
        said.append(f"predicate of stop criterion {request.predicate[0]}: {request.predicate[1] or 'none'}")
    if request.judgement is not None:
        said.append(f"judgement on stop criterion {request.judgement.number}")
    if request.drop is not None:
        said.append(f"without stop criterion {found[_check_number(found, request.drop)].text}")
    return one_line(", ".join([*said, *(f"budget {text}" for text in request.budget)]))


def _predicate(text: str, fixed: str, tagged: Callable[[str], str]) -> dict[str, object] | None:
    """The predicate that YAML states; an empty text takes it away."""
    if not text.strip():
        return None
    try:
        data = parse_yaml(text, "--predicate")
    except StoreError as error:
        raise UsageError(
            f"the predicate cannot be read: {error.message}",
            cause=error.cause or "it is not valid YAML",
            hint=form_of(text),
        ) from None
    named: dict[str, object] = _with_commits(checked_predicate(data, fixed), tagged)
    return checked_predicate(named)


def _with_commits(data: Any, tagged: Callable[[str], str]) -> Any:
    """A predicate in which tags stand with their commits, by which any comparison of those is known."""
    if isinstance(data, list):
        return [_with_commits(one, tagged) for one in data]
    if not isinstance(data, dict):
        return data
    done = {key: _with_commits(value, tagged) for key, value in data.items()}
    if done.get("axis") in OF_CODE and isinstance(values := done.get("values"), list):
        done["values"] = [f"{value}@{commit}" if (commit := tagged(str(value))) else value for value in values]
    return done


def _evidence(workspace: Workspace, book: Book, request: JudgeRequest) -> str:
    text = clean(request.evidence or "").strip()
    if not text:
        found = read(workspace, book).header.stop_criteria[request.number - 1 : request.number]
        entries = [entry for c in found if c.computed is not None for entry in c.computed.evidence]
        shown = entries[-1] if entries else "ID"
        raise UsageError(
            "no evidence",
            cause="a judgement needs evidence: the ID of an entry, or an address",
            hint=f"add: --evidence {shown}" + (" (logbook list shows the IDs)" if shown == "ID" else ""),
        )
    if parse_id(typed_id(text)) is not None:
        entry_id = book.resolve(text)
        entry = book.entry(entry_id)
        discarded = read(workspace, book).standing(entry).discarded_by
        if is_withdrawn(entry.state) or discarded:
            state = f"discarded by {discarded}" if discarded else entry.state
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


def _check_number(found: Sequence[Criterion], number: int | None) -> int:
    """The place of a criterion by its number (None: the last)."""
    number = len(found) if number is None else number
    if not 1 <= number <= len(found):
        raise UsageError(
            f"no stop criterion {number}",
            cause=f"there are {len(found)}, numbered from 1" if found else "this logbook has none",
            hint="list them with: logbook criteria" if found else "add one: logbook criteria --add TEXT",
        )
    return number - 1


def _line(number: int, criterion: Criterion) -> dict[str, object]:
    """A criterion as plain data: whether it is met, who judged that, and what was computed."""
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
