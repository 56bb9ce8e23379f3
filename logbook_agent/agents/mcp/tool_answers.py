"""The answer of each tool: what the command of that name answers with `--json`, by the same functions."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from logbook_agent.agents.mcp import tool_arguments as arguments
from logbook_agent.agents.mcp.desk import Desk
from logbook_agent.agents.mcp.detached_start import start
from logbook_agent.agents.mcp.output_fences import with_fences
from logbook_agent.agents.mcp.tool_table import Tool, checked
from logbook_agent.campaign.detached_runs import cancel, cancelled, wait
from logbook_agent.campaign.run_logs import check_tail, log_data
from logbook_agent.cli import system_error
from logbook_agent.cli.output import CONTROLS, error_answer, say
from logbook_agent.entries.compare import compare
from logbook_agent.entries.criteria import (
    CriteriaRequest,
    JudgeRequest,
    change_criteria,
    criteria_data,
    judge_name,
)
from logbook_agent.entries.drafts import Prose
from logbook_agent.entries.entries import EditRequest, edit, note, written
from logbook_agent.entries.overview import overview
from logbook_agent.entries.start import summarise
from logbook_agent.features import needed_module
from logbook_agent.findings.brief_entry import entry_data
from logbook_agent.findings.queries import latest, listed, tried_items
from logbook_agent.findings.read import read
from logbook_agent.findings.references import Contrast
from logbook_agent.findings.status import BUDGET_BYTES
from logbook_agent.model.errors import LogbookError, UsageError
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.redaction.plain import redacted

# The name of the schema, and the data.
Answer: TypeAlias = tuple[str, Any]
# How long a sync may wait for its host: the call must be answered within 60 s.
_SYNC_WAIT_S = 20.0
# Of a series, whose answer is in `compare`.
_SHOWN_RUNS = 3


def answered(desk: Desk, tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of a call as plain data, without secrets; or the error, whose schema is `logbook/error/1`."""
    space = desk.space()
    try:
        asked = checked(tool, given)
        space = desk.space(getattr(asked, "logbook", None))
        if tool.name == "wait":
            answer = _answer(desk, space, tool, asked)
        else:
            with desk.one_at_a_time:
                answer = _answer(desk, space, tool, asked)
    except LogbookError as error:
        answer = error_answer(error, space.redactor)
    except OSError as error:
        answer = error_answer(system_error(error), space.redactor)
    except Exception as error:  # noqa: BLE001 - the server goes on
        say(traceback.format_exc())
        answer = error_answer(_unexpected(error), space.redactor)
    # As text and back: what a reader of JSON would get.
    plain = json.loads(json.dumps(redacted(answer, space.redactor)))
    return dict(_visible(with_fences(plain)))


def _answer(desk: Desk, space: Workspace, tool: Tool, asked: Any) -> dict[str, Any]:
    if tool.name == "run":
        return start(space, asked)
    schema, data = _ANSWERS[tool.name](desk, space, asked)
    return _of(schema, data, space)


def _unexpected(error: Exception) -> LogbookError:
    return LogbookError(
        f"an error of logbook itself: {type(error).__name__}: {error}",
        cause="this should not happen; what was recorded is not touched by it",
        hint="try the same on the command line, and report it with the traceback in the log of this server",
    )


def _visible(data: Any) -> Any:
    """Plain data in which what a terminal would obey is shown as text."""
    if isinstance(data, str):
        return data.translate(CONTROLS)
    if isinstance(data, dict):
        return {_visible(key): _visible(value) for key, value in data.items()}
    return [_visible(value) for value in data] if isinstance(data, list) else data


# -- reading -----------------------------------------------------------------------------------------


def _status(_: Desk, space: Workspace, asked: arguments.StatusArguments) -> Answer:
    return "status", overview(
        space,
        space.book(),
        budget=BUDGET_BYTES if asked.budget is None else asked.budget,
        size=lambda answer: len(json_text(with_fences(_of("status", answer, space))).encode("utf-8", "surrogatepass")),
    )


def _of(schema: str, data: Any, space: Workspace) -> dict[str, Any]:
    return {"schema": f"logbook/{schema}/1", "data": data, "warnings": list(space.warnings)}


def json_text(answer: Any) -> str:
    """An answer as it is sent."""
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


def _search(_: Desk, space: Workspace, asked: arguments.SearchArguments) -> Answer:
    found = read(space, space.book().outgoing())
    space.warnings += found.unreadable
    if asked.tried:
        items = tried_items(found, asked.words, state=asked.state, kind=asked.kind)
        return "tried", {"tried": latest(items, asked.last)}
    return "list", listed(found, asked.words, state=asked.state, kind=asked.kind, last=asked.last)


def _show(_: Desk, space: Workspace, asked: arguments.ShowArguments) -> Answer:
    book = space.book(asked.id).outgoing()
    record = book.record(book.resolve(asked.id))
    if asked.tail is None:
        found = read(space, book)
        return "show", entry_data(found, record, book.log_path, full=asked.full)
    return "log", log_data(space, book, record.id, asked.tail)


def _compare(_: Desk, space: Workspace, asked: arguments.CompareArguments) -> Answer:
    if not asked.references:
        raise UsageError("compare: no reference", cause="references is empty", hint='references: ["ID"]')
    contrast = Contrast(
        references=asked.references,
        axis=asked.axis,
        base_value=asked.base,
        metrics=tuple(dict.fromkeys(asked.metrics)),
        where=dict(asked.where or {}),
    )
    return "compare", compare(space, contrast, baseline=asked.baseline).data()


# -- runs --------------------------------------------------------------------------------------------


def _wait(_: Desk, space: Workspace, asked: arguments.WaitArguments) -> Answer:
    check_tail(asked.tail)
    space.arrive = None  # what ended since the last call is part of the answer
    book = space.book(asked.ids[0] if asked.ids else None)
    limit_s = min(max(asked.timeout_s, 0.0), arguments.LONGEST_WAIT_S)
    done = wait(space, book, asked.ids, is_any=asked.any, timeout_s=limit_s)
    ids = [*done.going, *(one.id for one in done.ended)]
    outputs = [log_data(space, book, entry_id, asked.tail) for entry_id in ids[:1] if book.run_numbers(entry_id)]
    return "wait", _without_tail({**done.data(book, _SHOWN_RUNS), "output": outputs[0] if outputs else None})


def _without_tail(data: dict[str, Any]) -> dict[str, Any]:
    """The answer of `wait` without the end of a run's output that `output` shows, too."""
    shown = data["output"]
    for one in data["ended"]:
        for run in one["runs"]:
            if shown and (one["id"], run["run"]) == (shown["id"], shown["run"]) and {*run["tail"]} <= {*shown["lines"]}:
                del run["tail"]
    return data


def _cancel(_: Desk, space: Workspace, asked: arguments.CancelArguments) -> Answer:
    book = space.book(asked.id)
    return "cancel", cancelled(book, cancel(space, book, asked.id))


# -- writing -----------------------------------------------------------------------------------------


def _prose(asked: Any, *, result: str | None = None) -> Prose:
    return Prose(
        title=asked.title,
        hypothesis=asked.hypothesis,
        result=result,
        interpretation=asked.interpretation,
        next_action=asked.next,
        fields=tuple(f"{label}={text}" for label, text in (asked.fields or {}).items()),
        continues=asked.continues,
        completes=asked.completes,
        supersedes=asked.supersedes,
    )


def _plan(_: Desk, space: Workspace, asked: arguments.PlanArguments) -> Answer:
    return "plan", written(*note(space, _prose(asked), commands=asked.commands))


# What each action of `record` takes, beyond the texts of an entry.
_TAKES = {
    "note": ("text", "kind", "result"),
    "edit": ("id", "result", "confidence", "state", "reason", "append"),
    "summary": ("text",),
    "criterion": ("id", "criterion"),
}
# The actions that are about one entry's texts.
_WRITES_TEXTS = ("note", "edit")


def _record(_: Desk, space: Workspace, asked: arguments.RecordArguments) -> Answer:
    _check_taken(asked)
    if asked.action == "summary":
        book = space.book()
        summarise(space, book, asked.text or "")
        return "status", overview(space, book)
    if asked.action == "criterion":
        book = space.book()
        judged = JudgeRequest(number=asked.criterion or 0, met=True, evidence=asked.id, by=judge_name(space.environ))
        change_criteria(space, book, CriteriaRequest(judgement=judged))
        return "criteria", criteria_data(book, read(space, book))
    prose = _prose(asked, result=asked.result)
    if asked.action == "note":
        return "note", written(*note(space, prose, kind=asked.kind, text=asked.text))
    request = EditRequest(
        prose=prose, confidence=asked.confidence, reason=asked.reason, state=asked.state, append=asked.append
    )
    return "edit", written(*edit(space, asked.id or "", request))


def _check_taken(asked: arguments.RecordArguments) -> None:
    """Raises UsageError for an argument that the action does not take, or lacks."""
    own = {name for names in _TAKES.values() for name in names}
    texts = {f for f in vars(asked) if f not in own | {"action", "logbook"}}
    given = {name for name, value in vars(asked).items() if value not in (None, {}, False)} - {"action", "logbook"}
    takes = {*_TAKES[asked.action], *(texts if asked.action in _WRITES_TEXTS else ())}
    if others := sorted(given - takes):
        raise UsageError(
            f"record: {asked.action} takes no {others[0]}",
            cause=f"it takes {', '.join(sorted(takes))}",
            hint="leave it out",
        )
    for needed in {"edit": ("id",), "summary": ("text",), "criterion": ("criterion", "id")}.get(asked.action, ()):
        if getattr(asked, needed) is None:
            raise UsageError(f"record: {asked.action} needs {needed}", cause="it was not given", hint=f"add {needed}")


def _sync(_: Desk, space: Workspace, asked: arguments.SyncArguments) -> Answer:
    syncing = needed_module("syncs", "sync", hint="the records stay on this machine")
    return "sync", syncing.sync_by_digest(
        space, create=asked.create, repository=asked.repository, digest=asked.digest, max_wait_s=_SYNC_WAIT_S
    )


_ANSWERS: dict[str, Callable[[Desk, Workspace, Any], Answer]] = {
    "status": _status,
    "search": _search,
    "show": _show,
    "compare": _compare,
    "plan": _plan,
    "wait": _wait,
    "cancel": _cancel,
    "record": _record,
    "sync": _sync,
}
