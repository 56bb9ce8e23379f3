"""What was tried and did not work out: failures of runs, and what people marked, as plain data that is indexed.

Verdicts are no part of it, because they follow from the records of several entries: `listed` adds them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from logbook_agent.model.entry import ABANDONED, NEGATIVE_RESULT, VOID
from logbook_agent.model.record import Record, RunStatus
from logbook_agent.model.run import Row, Run
from logbook_agent.model.values import Scalar, canonical, parse_scalar
from logbook_agent.running.commands.flags import flags, normal_name, parts
from logbook_agent.text.markdown import lead, one_line
from logbook_agent.text.words import split_env_words

# One thing that was tried: entry, run (None: none), runs (all that came out so), at, kind, outcome, reason, command
# (words), config, env, commit, identity (of code).
Item: TypeAlias = dict[str, Any]

VERDICT, FAILURE, MARKED = "verdict", "failure", "marked"
# In front of an ID: the key of the entries that keep a comparison with its rows.
COMPARED = "of "
_FAILED = ("failed", "timeout")
_REASON_CHARACTERS = 200
# Of one entry; what is beyond is counted by `left_out` of the last one kept.
_MOST_ITEMS = 100


def command_key(argv: Sequence[str]) -> str:
    """One text for every way to write a command that differs in the order of its flags alone."""
    found = parts(tuple(argv), frozenset())
    return hashlib.sha256(repr((found.flags, found.words)).encode("utf-8", "backslashreplace")).hexdigest()[:16]


def command_of(run: Run) -> tuple[str, ...]:
    """What a run executed, without a launcher's prefix."""
    return run.argv if run.launcher is None else run.launcher.command


def planned_commands(record: Record) -> list[tuple[str, ...]]:
    """Planned commands that were not executed, without the variables in front."""
    return [c.argv if c.shell else tuple(split_env_words(c.argv)[1]) for c in record.pending_commands]


def keys_of(record: Record) -> list[tuple[str, int]]:
    """The keys under which an entry is looked up, of its commands and of the entries that it is compared with; each
    with 1 when the last run of the command failed or the entry was marked, else 0."""
    marked = mark_of(record) is not None
    found = {command_key(c): 1 for c in planned_commands(record)} if marked else {}
    for status in record.runs:
        failed = status.state in _FAILED or any(row.failed is not None for row in status.run.rows)
        found[command_key(command_of(status.run))] = int(marked or failed)
    found.update({COMPARED + i: 0 for c in record.entry.comparisons for i in c.entries})
    return list(found.items())


def latest(record: Record) -> dict[str, list[Any]]:
    """By the key of its command: number, state and start of the last run of an entry that came to an end. One that
    finished although a case failed mended nothing, and is told as failed."""
    found: dict[str, list[Any]] = {}
    for status in record.runs:
        run = status.run
        if run.exit is not None:
            state = "failed" if any(row.failed is not None for row in run.rows) else status.state
            found[command_key(command_of(run))] = [run.run, state, run.started]
    return found


def mark_of(record: Record) -> tuple[str, str] | None:
    """`negative result` or `abandoned`, and why; None for an entry that nobody marked."""
    entry = record.entry
    text = entry.text(NEGATIVE_RESULT)
    if record.state == VOID:
        return None
    if text:
        return NEGATIVE_RESULT.lower(), _brief(lead(text) or text)
    if record.state == ABANDONED:
        why = entry.text("Interpretation") or entry.text("Result") or ""
        return ABANDONED, _brief(lead(why) or why)
    return None


def items_of(record: Record) -> list[Item]:
    """The failures of an entry, each once however often it was repeated, and what it was marked with."""
    if record.state == VOID:
        return []
    found: dict[str, Item] = {}
    for status in record.runs:
        for item in _failures(status):
            same = repr([item[k] for k in ("outcome", "command", "config", "env")])
            item["runs"] = [*found.pop(same, {"runs": []})["runs"], status.run.run]
            found[same] = item
    kept = list(found.values())[-_MOST_ITEMS:]
    if len(found) > len(kept):
        kept[0]["left_out"] = len(found) - len(kept)
    return kept + _marked(record)


def _marked(record: Record) -> list[Item]:
    mark = mark_of(record)
    if mark is None:
        return []
    runs = [s.run for s in record.runs]
    commands = [command_of(r) for r in runs] or planned_commands(record)
    about = _about(runs[-1], None) if runs else {"config": _typed(commands[0]) if commands else {}}
    return [
        {
            "entry": record.id,
            "run": None,
            "runs": [r.run for r in runs],
            "at": record.entry.opened,
            "kind": MARKED,
            "outcome": mark[0],
            "reason": mark[1],
            "command": list(commands[-1]) if commands else [],
            "env": {},
            "commit": None,
            **about,
        }
    ]


def _failures(status: RunStatus) -> Iterator[Item]:
    """One for each failed case of a run; one for the run where it failed and no case says why."""
    run = status.run
    if status.state not in (*_FAILED, "finished"):
        return
    failed = [row for row in run.rows if row.failed is not None]
    for row in failed:
        if row.failed is not None:
            yield _failure(run, row.failed.reason, _brief(row.failed.message), row)
    if status.state in _FAILED and not failed:
        yield _failure(run, status.state, how_it_failed(run), None)


def _failure(run: Run, outcome: str, reason: str, row: Row | None) -> Item:
    return {
        "entry": run.entry,
        "run": run.run,
        "at": run.started,
        "kind": FAILURE,
        "outcome": outcome,
        "reason": reason,
        "command": list(command_of(run)),
        **_about(run, row),
    }


def _about(run: Run, row: Row | None) -> dict[str, Any]:
    """The configuration of a run or of one of its rows: what it reports, else what was declared or typed as a flag.
    `case`: what tells the row from the others of its run."""
    others = [other.config for other in run.rows if other is not row]
    told = {} if row is None else {k: v for k, v in row.config.items() if any(o.get(k) != v for o in others)}
    return {
        "case": told,
        "config": {**_typed(command_of(run)), **run.config} if row is None else {**run.config, **row.config},
        "env": dict(sorted((run.env.relevant | run.env.declared).items())),
        "commit": run.code.commit if run.code is not None else None,
    }


def _typed(command: Sequence[str]) -> dict[str, Scalar]:
    """Flags of a command that have one value."""
    return {name: parse_scalar(value) for name, value in flags(command).items() if value is not None}


def how_it_failed(run: Run) -> str:
    """Exit code, signal or time limit of a run, with the last line that it printed as an error."""
    ended = run.exit
    if ended is None:
        return ""
    if ended.timeout:
        how = "ended by its time limit" + (f" of {run.timeout_s:g} s" if run.timeout_s is not None else "")
    else:
        how = ended.signal or f"exit code {ended.code}"
    output = run.output
    said = ((output.error_tail or output.tail) if output is not None else ())[-1:]
    # What Python says of the signal that ended it is no reason.
    told = said and said[0].strip() and not (ended.timeout and said[0].strip() == "KeyboardInterrupt")
    return _brief(f"{how}: {said[0]}" if told else how)


def holds(item: Mapping[str, Any], where: Mapping[str, str]) -> bool:
    """Whether something was tried with these values of config, however they are spelt."""
    config = {normal_name(key): value for key, value in item["config"].items()}
    return all(key in config and canonical(config[key]) == canonical(value) for key, value in where.items())


def contradicts(mine: Mapping[str, Scalar], theirs: Mapping[str, Scalar]) -> bool:
    """Whether two declared configs say two things of one key."""
    return any(canonical(mine[k]) != canonical(theirs[k]) for k in mine.keys() & theirs.keys())


def _brief(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _REASON_CHARACTERS else line[: _REASON_CHARACTERS - 1] + "…"
