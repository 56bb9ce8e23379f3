"""The view: missing, changed by something else than the tool, or out of date."""

from __future__ import annotations

from collections.abc import Iterator

from logbook_agent.doctor.examination import DOCTOR_FIX, Examination
from logbook_agent.model.errors import StoreError
from logbook_agent.pages.views import render, view_problem
from logbook_agent.store.trouble import Trouble


def check_view(examination: Examination) -> Iterator[Trouble]:
    workspace, book = examination.workspace, examination.book
    said = len(workspace.warnings)
    try:
        problem = view_problem(workspace, book)
    except StoreError as error:
        # A template of the project, say. The other checks do without it.
        message = f"cannot be rendered: {error.message} ({error.cause})"
        yield Trouble("error", "view", book.view_path, message, error.hint)
        return
    del workspace.warnings[said:]  # of damaged records another check tells
    if problem is not None:

        def fix() -> str:
            render(workspace, book)
            return "rendered"

        mend = f"logbook render, or {DOCTOR_FIX}"
        # Where views are made on each machine, a new clone has none.
        is_expected = problem.kind == "missing" and workspace.config.ignore_views
        yield Trouble(
            "note" if is_expected else "warning", "view", book.view_path, str(problem), mend, fix, items=problem.blocks
        )
