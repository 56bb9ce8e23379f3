"""`logbook baseline`: moving what results are compared with, as an event that has a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from msgspec import Struct, structs

from logbook_agent.entries.header import change_header
from logbook_agent.findings.case_repeats import Repeats, repeats
from logbook_agent.findings.cases import cases, without_zeros
from logbook_agent.findings.read import read
from logbook_agent.findings.references import names_run, resolved
from logbook_agent.findings.summaries import is_case, unit_of, value_in
from logbook_agent.model.entry import entry_of
from logbook_agent.model.errors import UsageError, exclusive
from logbook_agent.model.header import Baseline, BaselineMove, BaselineNumbers, Header, Metric
from logbook_agent.model.record import Record
from logbook_agent.model.stats import median
from logbook_agent.model.values import Scalar, is_number, parse_values, row_key, varied
from logbook_agent.pages.blocks import baseline_text
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import clean, one_line
from logbook_agent.text.phrases import assignments, day, listed
from logbook_agent.text.shell_words import command_line

# A baseline of more cases than this is a sweep whose case was not named.
_MOST_CASES = 24


class MoveRequest(Struct, frozen=True, kw_only=True):
    """The new baseline, as typed: an entry whose rows are taken over, or numbers from elsewhere; the case; why."""

    entry_id: str | None = None
    config: Sequence[str] = ()
    numbers: Sequence[str] = ()
    source: str | None = None
    reason: str | None = None

    @property
    def asks(self) -> bool:
        """Whether it asks for a move at all."""
        return self != MoveRequest()


def move(workspace: Workspace, book: Book, request: MoveRequest) -> Header:
    """Write the new baseline into the header, beside what it was, when and why it moved. The view follows.

    Raises UsageError without a reason, for what is no baseline, and for the one that there is already.
    """
    reason = one_line(clean(request.reason or "")).strip()
    if not reason:
        raise UsageError(
            "no reason given",
            cause="moving the baseline needs a reason",
            hint="add: --reason 'the kernel was fixed' (text, @FILE or - for standard input)",
        )
    new = _baseline(workspace, book, request)
    ids = book.entry_ids()
    event = BaselineMove(at=workspace.stamp(), reason=reason, last_entry=ids[-1] if ids else None)
    what = f"baseline {baseline_text(new, book.header.metrics)}"
    change_header(workspace, book, lambda header: _moved(header, new, event), what=what, reason=reason)
    return book.header


def _moved(header: Header, new: Baseline, event: BaselineMove) -> Header:
    old = header.baseline
    if old is not None and structs.replace(old, date=new.date) == new:
        raise UsageError(
            f"this is already the baseline of {header.topic}",
            cause="the options change nothing",
            hint="logbook baseline",
        )
    event = structs.replace(event, before=old)
    return structs.replace(header, baseline=new, baseline_moves=(*header.baseline_moves, event))


def _baseline(workspace: Workspace, book: Book, request: MoveRequest) -> Baseline:
    config = parse_values(map(clean, request.config), "--config")
    exclusive(
        {"--entry": request.entry_id, "--number": list(request.numbers)},
        cause="the numbers of an entry are those that it measured",
        hint="leave one of them out; numbers from elsewhere: --number tflops=239.15 --source '...'",
    )
    if request.entry_id is None and not config and not request.numbers:
        raise UsageError(
            "no baseline named",
            cause="a baseline is a case, with its measured numbers",
            hint="--entry ID, or --config K=V with --number METRIC=V",
        )
    entry_id = None
    runs: tuple[int, ...] = ()
    if request.entry_id is None:
        typed = parse_values(map(clean, request.numbers), "--number")
        stated = {name: _number(book.header, name, value) for name, value in typed.items()}
        numbers: tuple[BaselineNumbers, ...] = (BaselineNumbers(metrics=stated),) if stated else ()
    else:
        reference = resolved(book, request.entry_id)
        record = book.record(entry_of(reference))
        entry_id = record.id
        if by := read(workspace, book).standing(record.entry).discarded_by:
            raise UsageError(
                f"{entry_id} is discarded",
                cause=f"{by} says so, and what is discarded counts for nothing",
                hint="logbook baseline --entry ID --reason '...'",
            )
        if reference == record.id and not config:
            _check_sides(record)
        only, others = _only(record, reference), book.contents().records
        config, numbers, runs = _measured(only, others, book.header, config)
    return Baseline(
        date=day(workspace.stamp(), book.header.zone),
        code_refs=_refs(book.header, entry_id),
        config=config,
        numbers=numbers,
        entry=entry_id,
        runs=runs,
        source=clean(request.source or "") or None,
    )


def _refs(header: Header, entry_id: str | None) -> tuple[str, ...]:
    """Where the code stands is kept when an entry takes over; numbers from elsewhere may be of other code."""
    return header.baseline.code_refs if header.baseline is not None and entry_id is not None else ()


def _number(header: Header, name: str, value: Scalar) -> float:
    names = [m.name for m in header.metrics]
    if name not in names:
        near = get_close_matches(name, names, n=1)
        raise UsageError(
            f"no metric named {name!r}",
            cause=f"{header.topic} declares {', '.join(names) or 'none'}",
            hint=f"--number {near[0]}={value}" if near else "a case is named by --config K=V",
        )
    if not is_number(value):
        raise UsageError(
            f"--number {f'{name}={value}'!r} is not a number",
            cause="the value of a metric is a number",
            hint=f"--number {name}=239.15",
        )
    return float(str(value))


# -- numbers of an entry -----------------------------------------------------------------------------


def _measured(
    record: Record, others: Sequence[Record], header: Header, wanted: Mapping[str, Scalar]
) -> tuple[dict[str, Scalar], tuple[BaselineNumbers, ...], tuple[int, ...]]:
    """The case that the rows have in common, and the median over runs of each primary metric in each case; and
    these runs.

    A case is told by the keys that were asked for and by those that the logbook names, else by the whole config. Rows
    of one case that differ in anything else are no repeats, and are never merged.
    """
    metrics = [m for m in header.metrics if m.primary] or list(header.metrics)
    # A zero is told by the values of all entries.
    good = {(c.entry, c.run) for c in without_zeros([c for other in others for c in cases(other)])}
    own = [case for case in cases(record) if (case.entry, case.run) in good]
    groups = [g for g in repeats(own) if _counts(g, [m.name for m in metrics])]
    _check_rows(record, groups, wanted)
    groups = [g for g in groups if not wanted or is_case(g.cases[0].row.config, wanted)]
    told = [k for k in dict.fromkeys((*wanted, *header.case_keys)) if any(k in g.cases[0].row.config for g in groups)]
    by_case: dict[object, list[tuple[dict[str, Scalar], Repeats]]] = {}
    for group in groups:
        whole = group.cases[0].row.config
        case = {k: whole[k] for k in told if k in whole} if told else dict(whole)
        by_case.setdefault(row_key(case), []).append((case, group))
    _check_cases(record, by_case)
    chosen = [found[0] for found in by_case.values()]
    common = {
        k: v
        for k, v in chosen[0][0].items()
        if all(k in c and row_key({k: c[k]}) == row_key({k: v}) for c, _ in chosen)
    }
    numbers = tuple(
        BaselineNumbers(
            config={k: v for k, v in case.items() if k not in common},
            metrics={m.name: value for m in metrics if (value := _median(group, m)) is not None},
        )
        for case, group in chosen
    )
    return common, numbers, tuple(sorted({case.run for _, group in chosen for case in group.cases}))


def _only(record: Record, reference: str) -> Record:
    """With the runs that `ID`, `ID/RUN` or `ID:LABEL` names. Raises UsageError when there are none."""
    runs = tuple(s for s in record.runs if names_run(reference, s.run))
    if not runs and reference != record.id:
        there = [f"{record.id}/{s.run.run}" for s in record.runs]
        raise UsageError(
            f"no run {reference}",
            cause=f"{record.id} has {listed(there, 3, '; ') or 'none'}",
            hint=f"--entry {there[-1]}" if there else f"logbook show {record.id}",
        )
    return structs.replace(record, runs=runs)


def _check_sides(record: Record) -> None:
    """Raises UsageError for an entry that compares several values, of which one is to be the baseline."""
    stated = record.entry.comparison
    question = stated.question if stated is not None else None
    rows = [row for status in record.runs for row in status.run.rows]
    if question is None or len({row.config.get(question.axis) for row in rows if row.failed is None} - {None}) < 2:
        return
    values = question.values
    raise UsageError(
        f"{record.id} compares {listed(values, 3)}",
        cause="the baseline is one of them",
        hint=f"name it: {command_line(['--entry', record.id, '--config', f'{question.axis}={values[0]}'])}",
    )


def _counts(group: Repeats, metrics: Sequence[str]) -> bool:
    """Whether a case was measured by a run that finished."""
    first = group.cases[0]
    return first.is_good and any(n in first.row.metrics for n in metrics)


def _median(group: Repeats, metric: Metric) -> float | None:
    """The median over runs of the medians of their samples, in the declared unit; None when there is none."""
    found = (value_in(case.row, metric) for case in group.cases)
    values = [value for value, unit in filter(None, found) if unit == unit_of(metric)]
    return median(values) if values else None


def _check_rows(record: Record, groups: Sequence[Repeats], wanted: Mapping[str, Scalar]) -> None:
    if not groups:
        raise UsageError(
            f"{record.id} has no measurement to use as a baseline",
            cause="none of its finished runs has a row with a declared metric",
            hint=f"logbook show {record.id}",
        )
    if wanted and not any(is_case(g.cases[0].row.config, wanted) for g in groups):
        there = [assignments(g.cases[0].row.config) or "no config" for g in groups]
        raise UsageError(
            f"no row of {record.id} has {assignments(wanted)}",
            cause=f"its rows have {listed(there, 3, '; ')}",
            hint=f"see them: logbook table {record.id}",
        )


def _check_cases(record: Record, by_case: Mapping[object, Sequence[tuple[dict[str, Scalar], Repeats]]]) -> None:
    for found in by_case.values():
        if len(found) > 1:
            differ = _differ([group for _, group in found])
            raise UsageError(
                f"rows of {record.id} in the same case differ",
                cause=f"they differ in {listed(differ, 3, '; ')}",
                hint=f"select one: --config {differ[0]}=V"
                if differ and differ[0] in found[0][1].cases[0].row.config
                else f"name a run: --entry {record.id}/{found[0][1].cases[0].run}"
                if len({case.run for _, group in found for case in group.cases}) > 1
                else "state the numbers: --config K=V --number METRIC=V",
            )
    if len(by_case) > _MOST_CASES:
        raise UsageError(
            f"{record.id} has {len(by_case)} cases",
            cause=f"a baseline has at most {_MOST_CASES}",
            hint="name the case: --config K=V",
        )


def _differ(groups: Sequence[Repeats]) -> list[str]:
    """The config keys and facts in which cases are unlike."""
    return [*varied(g.cases[0].row.config for g in groups), *dict.fromkeys(k for g in groups for k in g.apart)]
