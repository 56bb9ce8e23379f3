"""The answers of `list`, `show` and `table`, and the search for words, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, get_args

from msgspec import structs

from logbook_agent.findings.attempts import chosen
from logbook_agent.findings.case_repeats import level_changes, noise_of
from logbook_agent.findings.cases import Case, cases, executed, without_mended
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.comparison.answer_lines import data as answer_data
from logbook_agent.findings.comparison.answer_lines import failures
from logbook_agent.findings.comparison.words import sentence
from logbook_agent.findings.facts import planned
from logbook_agent.findings.read import Findings
from logbook_agent.findings.summaries import line_of
from logbook_agent.findings.tables.build import matching, tabulate
from logbook_agent.findings.tables.frame import frame_of, show
from logbook_agent.findings.tables.spec import Table, TableSpec
from logbook_agent.model.codec import encode
from logbook_agent.model.entry import KINDS, State
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Header
from logbook_agent.model.record import Record, RunStatus
from logbook_agent.model.run import Failure, Row, busy_text, contention_of
from logbook_agent.model.stats import median
from logbook_agent.model.summary import FoundEntry, TriedItem
from logbook_agent.model.values import Scalar, canonical
from logbook_agent.text.markdown import cut_line
from logbook_agent.text.phrases import bounded, one_of

STATES: tuple[State, ...] = get_args(State)
# What a line of `list` holds.
LINE = ("id", "opened", "kind", "state", "confidence", "confidence_text", "title", "runs", "result")
FOUND = ("found", "more")
_SNIPPET, _OUTPUT = 80, " output"
_Item = TypeVar("_Item")


def listed(
    found: Findings,
    words: Sequence[str] = (),
    *,
    state: str | None = None,
    kind: str | None = None,
    last: int | None = None,
) -> list[dict[str, object]]:
    """The lines of `list`, in order: of the entries that contain all words, with where. Raises UsageError for an
    unknown state or kind, and for a number of `last` entries below 1."""
    state = one_of("--state", "state", state, STATES) if state is not None else None
    kind = one_of("--kind", "kind", kind, KINDS) if kind is not None else None
    entries: Sequence[Mapping[str, object]] = search(found, words) if words else found.summaries
    wanted = [e for e in entries if state in (None, e["state"]) and kind in (None, e["kind"])]
    return [{key: e[key] for key in (*LINE, *FOUND) if key in e} for e in latest(wanted, last)]


def tried_items(found: Findings, words: Sequence[str], *, state: str | None, kind: str | None) -> list[TriedItem]:
    """What did not work, the oldest first. Raises UsageError for a state or kind."""
    if (state, kind) != (None, None):
        raise UsageError(
            "--tried takes no --state and no --kind",
            cause="it lists outcomes, not entries",
            hint="logbook list --tried timeout",
        )
    return chosen(found.tried, found.summaries, words)


def latest(items: Sequence[_Item], last: int | None) -> Sequence[_Item]:
    """The last ones (None: all). Raises UsageError for a number below 1."""
    if last is not None and last < 1:
        raise UsageError(f"--last {last} is not a number of entries", cause="it is below 1", hint="--last 10")
    return items if last is None else items[-last:]


def shown(found: Findings, record: Record, log_path: Callable[[str, int], object], *, full: bool) -> dict[str, object]:
    """An entry with its runs, what later entries make of it, and the answer to its comparison. `log_path` tells where
    the log of a run of an entry is; `full` gives every sample and all provenance as recorded."""
    entry, header = record.entry, found.records.header
    return {
        **line_of(record, header, answer := found.answer_of(entry)),
        "continues": entry.continues,
        "completes": entry.completes,
        "supersedes": entry.supersedes,
        **({"decides": entry.decides, "kept": entry.kept, "commit": entry.commit} if entry.decides else {}),
        "completed_by": [],
        "superseded_by": [],
        **found.later(entry.id),
        "fields": [{"label": f.label, "text": f.text} for f in entry.fields if f.text],
        "planned": [{"label": c.label, "command": planned(c)} for c in record.pending_commands],
        "comparison": encode(entry.comparison) if entry.comparison is not None else None,
        "answer": answer_data(answer) if answer is not None else None,
        "noise": [encode(n) for n in noise_of(record, header.metrics)] if entry.noise else [],
        "level_changes": level_changes(record),
        "runs": [encode(s.run) | {"state": s.state} if full else brief_run(s, log_path) for s in record.runs],
    }


def brief_run(status: RunStatus, log_path: Callable[[str, int], object]) -> dict[str, Any]:
    """A run in brief: command, outcome, rows as medians, end of the output. `log_path` tells where the log of a run of
    an entry is."""
    run = status.run
    output = run.output
    failed = status.state != "finished"
    more = {"artifacts": encode(run.artifacts), "curves": encode(run.curves)}
    return {
        "run": encode(run.run),
        "label": run.label,
        "state": status.state,
        "discarded": run.discarded,
        "command": executed(run),
        "started": run.started,
        "duration_s": run.duration_s,
        "exit": encode(run.exit) if run.exit is not None else None,
        "commit": run.code.commit if run.code is not None else None,
        "busy": busy_text([found]) or None if (found := contention_of(run)) is not None else None,
        "rows": [brief_row(row) for row in run.rows],
        "tail": list((output.error_tail if failed else ()) or output.tail)[-10:] if output is not None else [],
        **{name: found for name, found in more.items() if found},
        "problems": encode(run.problems),
        "log": str(log_path(run.entry, run.run)),
    }


def brief_row(row: Row) -> dict[str, Any]:
    """A row with the median and the number of samples of each metric; what it has none of is left out."""
    metrics = {
        name: {"median": median(m.samples), "n": len(m.samples), "unit": m.unit} for name, m in row.metrics.items()
    }
    failed = encode(row.failed) if row.failed is not None else None
    more = {"metrics": metrics, "observations": row.observations, "labels": row.labels, "failed": failed}
    return {"config": row.config, **{name: found for name, found in more.items() if found}}


def search(found: Findings, words: Sequence[str]) -> list[FoundEntry]:
    """The lines of the entries in which every word occurs (case does not matter), each with where it was found."""
    words = [word for text in words for word in text.casefold().split()]
    by_id = {summary["id"]: summary for summary in found.summaries}
    lines: list[FoundEntry] = []
    for record in found.contents.records:
        places = list(_places(record))
        whole = "\n".join(content for _, content in places).casefold()
        if all(w in whole for w in words) and record.id in by_id:
            hits = _hits(places, words)
            lines.append({**by_id[record.id], "found": hits[:5], "more": max(0, len(hits) - 5)})
    return lines


def _places(record: Record) -> Iterator[tuple[str, str]]:
    entry = record.entry
    yield "id", entry.id
    yield "title", entry.title
    for f in entry.fields:
        yield f.label, f.text
    for command in entry.commands:
        yield "Command (planned)", planned(command)
    for status in record.runs:
        yield from _run_places(status)


def _run_places(status: RunStatus) -> Iterator[tuple[str, str]]:
    run = status.run
    name = f"run {run.run}"
    yield name, f"{run.label or ''} {executed(run)} {' '.join(map(str, run.problems))}"
    for row in run.rows:
        words: Iterable[str] = (f"{k}={v}" for k, v in {**row.config, **row.labels}.items())
        yield f"{name} row", " ".join([*words, *row.metrics, *row.observations])
    if run.output is not None:
        yield f"{name}{_OUTPUT}", "\n".join((*run.output.tail, *run.output.error_tail))


def _hits(places: list[tuple[str, str]], words: Sequence[str]) -> list[dict[str, str]]:
    """Where the words occur, each text once. Outputs, which mostly repeat the command and the rows, are shown for words
    that stand nowhere else."""
    rest = "\n".join(content for where, content in places if not where.endswith(_OUTPUT)).casefold()
    hits: dict[str, str] = {}
    for where, content in places:
        wanted = [w for w in words if w not in rest] if where.endswith(_OUTPUT) else words
        at = min((i for w in wanted if (i := content.casefold().find(w)) >= 0), default=-1)
        if at >= 0:
            hits.setdefault(_snippet(content, at), where)
    return [{"where": where, "text": text} for text, where in hits.items()]


def _snippet(content: str, at: int) -> str:
    """The line around a place, or as much of it as is shown."""
    begin = content.rfind("\n", 0, at) + 1
    start = max(begin, at - _SNIPPET // 2)
    return ("…" if start > begin else "") + cut_line(content[start:].partition("\n")[0], at - start + _SNIPPET)


_SHOWN_FINDINGS = 12


def table(found: Findings, entry_ids: Sequence[str], spec: TableSpec) -> tuple[list[Case], Table]:
    """The rows of the entries, in the order they are named, as cases and as a table; of all that count where none is
    named. Raises UsageError when they have none."""
    header = found.records.header
    records = [found.records.record(entry_id) for entry_id in entry_ids] if entry_ids else found.counting
    rows = cases(*map(without_mended, records))
    if not rows:
        raise UsageError(
            f"{', '.join(entry_ids)} has no rows" if entry_ids else f"{header.topic} has no rows yet",
            cause=f"{'none of its runs' if entry_ids else 'no run of an entry that counts'}"
            " printed a RESULT, METRIC or RESULT_JSON line",
            hint=f"logbook show {entry_ids[0]}" if entry_ids else "logbook run -- COMMAND",
        )
    entries = {case.entry for case in rows}
    answers = [a for a in found.comparisons.answers if a.entry in entries]
    rows = _judged(rows, answers)
    failed = [f"{a.entry}: {text}" for a in answers if not a.is_lost for text in failures(a)]
    if spec.delta or spec.ratio:
        answers = [a for a in answers if spec.pivot in (None, a.question.axis)]
        spec, failed = _with_base(spec, answers, header, rows), [*failed, *_answered(answers, spec.where)]
        # Without a pivot the first row is the base; chance drew which side ran first.
        base = answers[0].question.base if len(entries) == 1 and answers and spec.pivot is None else None
        rows = sorted(rows, key=lambda case: base is not None and (case.part is None or case.part.side != base))
    made = tabulate(rows, spec, declared=header.metrics)
    return rows, structs.replace(made, notes=(*made.notes, *failed))


def _judged(rows: Sequence[Case], answers: Sequence[Answer]) -> list[Case]:
    """The rows, of which those of a side that failed in each pair of a case have failed, as a gate may compare two
    rows."""
    lost = [(a, f) for a in answers for f in a.goals if f.failed_side in a.failed]

    def judged(case: Case) -> Case:
        for a, f in lost if case.part is not None and case.row.failed is None else ():
            config = {name: canonical(value) for name, value in case.row.config.items()}
            is_of = (case.entry, case.part and case.part.side) == (a.entry, f.failed_side)
            if is_of and all(config.get(name, value) == value for name, value in f.config.items()):
                row = structs.replace(case.row, failed=Failure(reason=a.how_failed(f.failed_side)))
                return structs.replace(case, row=row)
        return case

    return [judged(case) for case in rows]


def _with_base(spec: TableSpec, answers: Sequence[Answer], header: Header, found: Sequence[Case]) -> TableSpec:
    """The table with the base that is stated first in: the comparisons over the pivot, the baseline, the matrix."""
    pivot = spec.pivot
    if pivot is None or spec.base is not None or spec.values:
        return spec
    compared = {a.question.base for a in answers}
    stated: list[Scalar] = [*compared] if len(compared) == 1 else []
    stated += [header.baseline.config.get(pivot)] if header.baseline is not None else []
    stated += [axis.values[0] for axis in header.matrix if axis.axis == pivot and axis.values]
    frame = frame_of(matching(found, spec.where))
    base = next((show(value) for value in stated if value is not None and frame.having({pivot: value})), None)
    return structs.replace(spec, base=base)


def _answered(answers: Sequence[Answer], where: Mapping[str, str]) -> list[str]:
    """The findings of comparisons about the rows that are shown."""
    wanted = {name: canonical(value) for name, value in where.items()}
    found = [
        f"{a.entry}: {sentence(a, f)}"
        for a in answers
        for f in a.goals
        if all(f.config.get(name, value) == value for name, value in wanted.items())
    ]
    return bounded(found, _SHOWN_FINDINGS, "more findings: logbook compare ID")
