"""What was tried and did not work out: failures, marked entries, and verdicts of the comparisons that entries keep."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from logbook_agent.findings.summaries import summaries
from logbook_agent.findings.tried.keys import FAILURE, MARKED, VERDICT, Item, command_key, item_of
from logbook_agent.model.entry import VOID
from logbook_agent.model.errors import LogbookError, UsageError
from logbook_agent.model.record import Record
from logbook_agent.model.values import canonical
from logbook_agent.running.commands.flags import normal_name
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace

if TYPE_CHECKING:
    from logbook_agent.findings.evidence.answers import Answer
    from logbook_agent.model.run import Run

KINDS = (VERDICT, FAILURE, MARKED)


def verdicts(book: Book, record: Record) -> list[Item]:
    """What the comparisons that an entry keeps found to be no gain: verdicts `regressive` and `neutral`, as they
    stand now, each about the configuration on the other side; none from a comparison with an entry that was taken
    back."""
    if record.state == VOID or not record.entry.comparisons:
        return []
    # Tables and statistics, which few entries need.
    from logbook_agent.findings.comparisons.compare import compare, withdrawn_sides

    @functools.cache
    def run_of(entry_id: str, number: int) -> Run:
        [run] = book.runs(entry_id, stamps=book.run_stamps(entry_id, [number]))
        return run

    found: list[Item] = []
    for asked in record.entry.comparisons:
        with contextlib.suppress(LogbookError):  # its own entry says that it cannot be answered
            if withdrawn_sides(book, asked, record.id):
                continue
            for answer in compare(book, asked).answers:
                found += _negative(record.id, answer, run_of)
    return found


def _negative(kept_with: str, answer: Answer, run_of: Callable[[str, int], Run]) -> Iterator[Item]:
    from logbook_agent.findings.comparisons.told import delta_text, interval_text
    from logbook_agent.findings.evidence.verdict import Verdict

    for line in answer.lines:
        for m in line.metrics:
            if m.withheld_by or m.judgement is None:
                continue
            if m.judgement.verdict not in (Verdict.REGRESSIVE, Verdict.NEUTRAL):
                continue
            reason = f"{m.metric} {delta_text(m)}" + (f" ({t})" if (t := interval_text(m)) else "")
            cases = [item.case for item in sorted(line.pair.other.items, key=lambda item: item.run)]
            last = cases[-1]
            yield {
                **item_of(run_of(last.entry, last.run), last.row, VERDICT, m.judgement.verdict.value, reason),
                "runs": sorted({case.run for case in cases if case.entry == last.entry}),
                "metric": m.metric,
                "delta": None if m.ratio is None else m.ratio - 1,
                "against": answer.base,
                "base": answer.base,
                "other": answer.other,
                "axis": answer.axis,
                "case": dict(line.pair.case),
                "of_cases": len(answer.lines),
                "kept_with": kept_with,
            }


# -- the list ----------------------------------------------------------------------------------------


def tried(
    workspace: Workspace,
    book: Book,
    *,
    where: Mapping[str, str],
    kind: str | None = None,
    outcome: str | None = None,
    entry_id: str | None = None,
) -> list[Item]:
    """Everything that was tried and did not work out, oldest first: with these values of config or flags, of a kind,
    with an outcome, of an entry. Raises UsageError for a name that no entry has.

    `since`: the later run of the same command that finished, when there is one.
    """
    if kind not in (None, *KINDS):
        raise UsageError(f"unknown kind {kind!r}", cause=f"kinds are {', '.join(KINDS)}", hint="--kind failure")
    found = summaries(book)
    workspace.warnings += [e.message for e in found.damaged]
    items = [item for e in found.entries for item in e["tried"]]
    for entry in found.entries:
        if entry["comparisons"]:
            items += verdicts(book, book.record(entry["id"]))
    configs = {id(i): {normal_name(key): canonical(value) for key, value in i["config"].items()} for i in items}
    _check(items, outcome, where, sorted({key for config in configs.values() for key in config}))
    wanted = {(key, canonical(value)) for key, value in where.items()}
    only = book.resolve(entry_id) if entry_id is not None else None
    finished: dict[str, tuple[str, str]] = {}
    for entry in found.entries:
        for key, (run, started) in entry["finished"].items():
            finished[key] = max(finished.get(key, ("", "")), (started, f"{entry['id']}/{run}"))
    kept = [
        {**item, "since": _since(item, finished)}
        for item in items
        if kind in (None, item["kind"])
        and outcome in (None, item["outcome"])
        and only in (None, item["entry"])
        and wanted <= configs[id(item)].items()
    ]
    return sorted(kept, key=lambda item: (item["at"], item["entry"]))


def _since(item: Item, finished: Mapping[str, tuple[str, str]]) -> str | None:
    if item["kind"] != FAILURE or not item["command"]:
        return None
    started, run = finished.get(command_key(item["command"]), ("", ""))
    return run if started >= item["at"] and run != f"{item['entry']}/{item['run']}" else None


def _check(items: Sequence[Item], outcome: str | None, where: Mapping[str, str], keys: Sequence[str]) -> None:
    """Raises UsageError for an outcome or a key that nothing here has."""
    from difflib import get_close_matches

    outcomes = sorted({item["outcome"] for item in items})
    if outcome is not None and outcome not in outcomes:
        near = get_close_matches(outcome, outcomes, n=1)
        raise UsageError(
            f"nothing has the outcome {outcome!r}",
            cause=f"outcomes here are {', '.join(outcomes) or 'none yet'}",
            hint=f"--outcome {near[0]}" if near else "logbook tried",
        )
    for key in (k for k in where if items and k not in keys):
        near = get_close_matches(key, keys, n=1)
        raise UsageError(
            f"nothing that was tried has a {key!r}",
            cause=f"its config has {', '.join(keys[:20]) or 'no keys'}",
            hint=f"{near[0]}={where[key]}" if near else "logbook tried",
        )
