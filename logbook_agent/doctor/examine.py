"""Runs all checks in order. With `fix`, the findings of a check are repaired before the next check runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypedDict

from msgspec import structs

from logbook_agent.doctor.checks import (
    Check,
    Survey,
    check_code,
    check_folders,
    check_header,
    check_logs,
    check_merges,
    check_names,
    check_records,
    check_twins,
    check_voids,
)
from logbook_agent.doctor.leftovers import check_detached, check_markers, check_temporary_files, check_unfinished
from logbook_agent.features import present, provided
from logbook_agent.model.errors import StoreError
from logbook_agent.pages.views import render, view_problem
from logbook_agent.store.book import Book
from logbook_agent.store.trouble import Severity, Trouble
from logbook_agent.store.workspace import Workspace


def check_view(survey: Survey) -> Iterator[Trouble]:
    """A view that is missing, was changed by something else than the tool, or is out of date."""
    workspace, book = survey.workspace, survey.book
    warned = len(workspace.warnings)
    try:
        problem = view_problem(workspace, book)
    except StoreError as error:
        # A template of the project, say. The other checks do without it.
        message = f"cannot be rendered: {error.message} ({error.cause})"
        yield Trouble("error", "view", book.view_path, message, error.hint)
        return
    del workspace.warnings[warned:]  # of damaged records another check tells
    if problem is not None:

        def fix() -> str:
            render(workspace, book)
            return "rendered"

        mend = f"{survey.typed('render')}, or {survey.fixing}"
        # Where views are made on each machine, a new clone has none.
        severity: Severity = "note" if problem.kind == "missing" and workspace.config.ignore_views else "warning"
        yield Trouble(severity, "view", book.view_path, str(problem), mend, fix, items=problem.blocks)


# From the records to what is derived from them.
CHECKS: tuple[Check, ...] = (
    check_temporary_files,
    check_header,
    check_merges,
    check_names,
    check_folders,
    check_records,
    check_code,
    check_twins,
    check_detached,
    check_unfinished,
    check_markers,
    check_logs,
    check_view,
    check_voids,
)


def examine(workspace: Workspace, book: Book, *, fix: bool) -> list[Trouble]:
    """What is wrong, in the order of the checks; with `fix`, mended where that is safe."""
    found: list[Trouble] = []
    survey = Survey(workspace, book, set())
    others = [_of_feature(place) for feature in present() for place in feature.checks]
    for check in (*CHECKS, *others):
        new = _run(survey, check, fix=fix)
        found += new
        # Without the header, nothing else can be understood.
        if check is check_header and new:
            break
        if any(trouble.mended for trouble in new):
            survey = Survey(workspace, book, survey.reported)
    return _once(found)


def _of_feature(place: str) -> Check:
    """A check that a feature provides: of the workspace and the book alone."""
    check: Callable[[Workspace, Book], Iterator[Trouble]] = provided(place)
    return lambda survey: check(survey.workspace, survey.book)


def _run(survey: Survey, check: Check, *, fix: bool) -> list[Trouble]:
    # All is found before anything is mended: a mend must not change what the check looks at.
    try:
        found = list(check(survey))
    except StoreError as error:
        # The folder or file that all of a check rests on. The other checks go on.
        where = survey.book.folder
        return [Trouble("error", "unreadable", where, error.message, error.hint or error.cause)]
    return [_mended(f) for f in found] if fix else found


def _once(found: list[Trouble]) -> list[Trouble]:
    """Without what several checks have met alike."""
    told = {f.message: f for f in reversed(found) if f.check == "unreadable"}
    return [f for f in found if f.check != "unreadable" or told[f.message] is f]


def _mended(finding: Trouble) -> Trouble:
    if finding.fix is None:
        return finding
    try:
        return structs.replace(finding, mended=finding.fix())
    except StoreError as error:
        return structs.replace(finding, mend=f"not fixed: {error.message}; {error.hint or error.cause}")


class DoctorAnswer(TypedDict):
    """The answer of `doctor` for machines: every finding, and how many of which kind are left."""

    topic: str
    ok: bool
    errors: int
    warnings: int
    notes: int
    mended: int
    findings: list[dict[str, object]]


def summary(book: Book, found: list[Trouble]) -> DoctorAnswer:
    """For machines: every finding, and how many of which kind are left."""
    left = [f for f in found if f.mended is None]
    return {
        "topic": book.topic,
        "ok": not any(f.is_wrong for f in found),
        "errors": sum(f.severity == "error" for f in left),
        "warnings": sum(f.severity == "warning" for f in left),
        "notes": sum(f.severity == "note" for f in left),
        "mended": sum(f.mended is not None for f in found),
        "findings": [f.data() for f in found],
    }
