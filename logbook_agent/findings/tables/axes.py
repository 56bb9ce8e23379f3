"""Which columns tell the rows of a table apart, so that unlike rows are never merged."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence

from logbook_agent.findings.cases import Case
from logbook_agent.findings.identity import COMMAND, CWD, as_typed, residue, unexplained
from logbook_agent.findings.tables.frame import Frame, Item, by, groups, show, varies
from logbook_agent.findings.tables.spec import TableSpec


def lay_out(frame: Frame, spec: TableSpec, *, by_origin: bool = True) -> tuple[str, ...]:
    """The columns before the metrics: every one that varies and keeps unlike rows apart. Cases that share them and the
    pivot are repeats; without `by_origin`, also those of several entries or labels."""
    varied = [name for name in residue(item.case for item in frame.items) if name not in (COMMAND, CWD)]
    # Config and devices first.
    varied.sort(key=lambda name: name not in frame.config and name != frame.pseudo["devices"])
    axes = [name for name in varied if _open(spec, name)]
    if by_origin:
        _add_label(frame, spec, axes)
    axes = _between_repeats(frame, spec, axes, [*(["entry", "label"] if by_origin else []), "state"])
    axes += _between_commands(frame, _cell_axes(spec, axes))
    entry = frame.pseudo["entry"]
    if by_origin and spec.pivot is None and entry not in axes and varies(frame.items, entry):
        axes = [entry, *axes]
    return (*axes, *within_a_run(frame, _cell_axes(spec, axes)))


def _open(spec: TableSpec, name: str) -> bool:
    return name != spec.pivot and name not in spec.implied


def _add_label(frame: Frame, spec: TableSpec, axes: list[str]) -> None:
    """Labels come first, unless they go with the pivot (Int8 with int8) and would split its rows."""
    label = frame.pseudo["label"]
    if not _open(spec, label) or all(item.key(label) is None for item in frame.items):
        return
    if spec.pivot is None or not any(varies(row, label) for row in groups(frame.items, axes)):
        axes.insert(0, label)


def _between_repeats(frame: Frame, spec: TableSpec, axes: Sequence[str], origins: Sequence[str]) -> list[str]:
    """The axes, and further ones in which the cases of one cell differ: cases of other entries and labels, and of runs
    that failed, are no repeats."""
    cells = groups(frame.items, _cell_axes(spec, axes))
    origin = [frame.pseudo[name] for name in origins]

    def differing(names: Sequence[str]) -> list[str]:
        rest = [name for name in names if name not in axes and name != spec.pivot]
        return [name for name in rest if any(varies(cell, name) for cell in cells)]

    return [*differing(origin), *axes, *differing(spec.implied)]


def _between_commands(frame: Frame, names: Sequence[str]) -> list[str]:
    """The axis `command`, if the commands of one cell differ beyond config. Its place in each item is then filled with
    the words in which they do."""

    def differs(cell: Sequence[Item]) -> bool:
        said = {(i.case.command, i.case.cwd, tuple(i.row.config)): i.case for i in cell if i.row.failed is None}
        return len(said) > 1 and len({(unexplained(c, frame.config), c.cwd) for c in said.values()}) > 1

    command = frame.pseudo["command"]
    if not any(map(differs, groups(frame.items, names))):
        return []
    for item, text in zip(frame.items, differing([i.case for i in frame.items], frame.config), strict=True):
        item.place[command] = text
    return [command]


def within_a_run(frame: Frame, names: Sequence[str]) -> list[str]:
    """The names that tell apart rows which one run printed with equal values on all `names`: words of the rows, else a
    number that nothing declares, else their order, whose place is then filled."""
    shared = _shared(frame.items, names)
    words = dict.fromkeys(word for rows in shared for item in rows for word in item.row.labels)
    more = [word for word in words if word not in names and any(varies(rows, word) for rows in shared)]
    more += _telling(_shared(frame.items, [*names, *more]))
    shared = _shared(frame.items, [*names, *more])
    if shared:
        order = frame.pseudo["row"]
        for rows in _rows_of_runs(frame.items, [*names, *more]):
            for number, item in enumerate(rows, start=1):
                item.place[order] = number
        more.append(order)
    return more


def _telling(shared: Sequence[Sequence[Item]]) -> list[str]:
    """The one number that tells such rows apart in every run and can be no measurement: whole, different in each row,
    the same set in every run. None where several would do."""
    found_names = []
    names = dict.fromkeys(name for rows in shared for item in rows for name in item.row.observations)
    for name in names:
        found = [[item.row.observations.get(name) for item in rows] for rows in shared]
        whole = all(value is not None and value == int(value) for values in found for value in values)
        distinct = all(len(set(values)) == len(values) for values in found)
        if whole and distinct and len({frozenset(values) for values in found}) == 1:
            found_names.append(name)
    return found_names if len(found_names) == 1 else []


def _rows_of_runs(items: Sequence[Item], names: Sequence[str]) -> list[list[Item]]:
    return list(by(items, lambda i: (i.case.entry, i.case.run, i.keys(names))).values())


def _shared(items: Sequence[Item], names: Sequence[str]) -> list[list[Item]]:
    return [rows for rows in _rows_of_runs(items, names) if len(rows) > 1]


def _cell_axes(spec: TableSpec, axes: Sequence[str]) -> list[str]:
    return [*axes, spec.pivot] if spec.pivot is not None else list(axes)


def axis_notes(frame: Frame, spec: TableSpec, axes: Sequence[str]) -> list[str]:
    """Notes on undeclared axes, and on what differs between rows and is no column."""
    notes = []
    order = frame.pseudo["row"]
    if order in axes:
        notes.append(_advice(frame, spec, order, axes))
    undeclared = [a for a in axes if any(a in item.row.observations for item in frame.items)]
    notes += [
        f"{name}: not declared, but these rows differ in it; --config {name}=VALUE, a flag of the command or"
        " an axis of the matrix makes it part of the case"
        for name in undeclared
    ]
    label = frame.pseudo["label"]
    extra = [label] if varies(frame.items, label) else []
    for name in dict.fromkeys([*frame.config, *frame.facts, *spec.implied, *extra]):
        if name in axes or name == spec.pivot or not varies(frame.items, name):
            continue
        follows = _follows(frame.items, spec.pivot, name)
        if follows is not None:
            if name != label:  # a label only names what the pivot says
                notes.append(f"{name} differs with {spec.pivot}: {follows}")
        else:
            notes.append(f"{name} differs between the rows and is not shown")
    return notes


def _advice(frame: Frame, spec: TableSpec, order: str, axes: Sequence[str]) -> str:
    """A note on rows that only their order tells apart, with the observations that may be axes."""
    rows = groups(frame.items, [a for a in _cell_axes(spec, axes) if a != order])
    names = dict.fromkeys(name for item in frame.items for name in item.row.observations)
    better = [name for name in names if any(varies(row, name) for row in rows)]
    note = f"{order}: rows that one run printed with the same config, told apart by their order"
    return note + (f" (these differ too, and can be an axis: {', '.join(better)})" if better else "")


def _follows(items: Sequence[Item], pivot: str | None, name: str) -> str | None:
    """`none 1, ep 4`: the one value of an axis at each pivot value; None unless there is just one at each."""
    if pivot is None:
        return None
    parts = []
    for group in groups(items, [pivot]):
        if varies(group, name):
            return None
        parts.append(f"{show(group[0].place.get(pivot))} {show(group[0].place.get(name))}")
    return ", ".join(parts)


def blocked_by(frame: Frame, axes: Sequence[str], pivot: str | None) -> list[str]:
    """The axes that change together with the pivot, so that no row has two values of it."""
    if pivot is None or not varies(frame.items, pivot):
        return []
    return [a for a in axes if varies(frame.items, a) and _follows(frame.items, pivot, a) is not None]


def differing(cases: Sequence[Case], names: Collection[str] = ()) -> list[str | None]:
    """The words in which the commands of the cases, and their folders, differ, for each case: `--fast`; None: no word
    that the others lack. `names` are explained beside the config of each."""
    said = [unexplained(case, names) for case in cases]
    shared = set.intersection(*(set(one.flags) for one in said)) if said else set()
    words = _without_ends([one.words for one in said])
    folders = len({case.cwd for case in cases}) > 1
    found: list[str | None] = []
    for case, one, rest in zip(cases, said, words, strict=True):
        flags = [word for flag in one.flags if flag not in shared for word in as_typed(*flag)]
        place = ["in", case.cwd] if folders and case.cwd is not None else []
        found.append(shlex.join([*rest, *flags, *place]) or None)
    return found


def _without_ends(texts: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """The sequences without the words with which all of them start and end."""
    if not texts:
        return []
    least, first = min(map(len, texts)), texts[0]
    start = 0
    while start < least and all(text[start] == first[start] for text in texts):
        start += 1
    end = 0
    while end < least - start and all(text[-1 - end] == first[-1 - end] for text in texts):
        end += 1
    return [text[start : len(text) - end] for text in texts]
