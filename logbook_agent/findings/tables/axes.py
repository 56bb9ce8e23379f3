"""Which columns tell the rows of a table apart, so that unlike rows are never merged."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence

from logbook_agent.findings.cases import Case
from logbook_agent.findings.identity import COMMAND, CWD, as_typed, residue, unexplained
from logbook_agent.findings.tables.frame import Frame, Item, by, groups, show, varies
from logbook_agent.findings.tables.spec import TableSpec
from logbook_agent.model.comparison import OF_CODE
from logbook_agent.text.commands.flags import same_flag


def lay_out(frame: Frame, spec: TableSpec, *, by_origin: bool = True) -> tuple[str, ...]:
    """The columns before the metrics: every one that varies and keeps unlike rows apart. Cases that share them and the
    pivot are repeats; without `by_origin`, also those of several entries or labels."""
    entry, label, state = (frame.pseudo[name] for name in ("entry", "label", "state"))
    command, cwd = frame.pseudo[COMMAND], frame.pseudo[CWD]
    for item, words in zip(frame.items, differing([i.case for i in frame.items], frame.config), strict=True):
        item.place.update({command: words, cwd: item.case.cwd})
    pivot = [] if spec.pivot is None else [spec.pivot]
    # The sides of a code are named by it.
    codes = OF_CODE if spec.pivot in OF_CODE else ()
    hidden = {command, cwd, *pivot, *codes, *spec.implied}
    axes = [name for name in residue(item.case for item in frame.items) if name not in hidden]
    # Config and devices first.
    axes.sort(key=lambda name: name not in frame.config and name != frame.pseudo["devices"])

    def mixed(names: Sequence[str]) -> list[str]:
        """Those of the names in which the cases of one cell differ."""
        cells = groups(frame.items, [*axes, *pivot])
        rest = [name for name in names if name not in axes and name not in pivot]
        return [name for name in rest if any(varies(cell, name) for cell in cells)]

    if by_origin and not pivot:
        axes = [*(name for name in (entry, label) if varies(frame.items, name)), *axes]
    # Cases of other entries and labels, and of runs that failed, are no repeats.
    origins = [entry, label, state] if by_origin else [state]
    axes = [*mixed(origins), *axes, *mixed(spec.implied)]
    axes += mixed([command])
    return (*axes, *within_a_run(frame, [*axes, *pivot]))


def within_a_run(frame: Frame, names: Sequence[str]) -> list[str]:
    """The names that tell apart rows which one run printed with equal values on all `names`: words of the rows, else a
    number that nothing declares, else their order, whose place is then filled."""
    shared = _shared(frame.items, names)
    words = dict.fromkeys(word for rows in shared for item in rows for word in item.row.labels)
    found = [word for word in words if word not in names and any(varies(rows, word) for rows in shared)]
    shared = _shared(frame.items, [*names, *found])
    numbers = dict.fromkeys(name for rows in shared for item in rows for name in item.row.observations)
    telling = [name for name in numbers if _is_telling(shared, name)]
    found += telling if len(telling) == 1 else []
    if _shared(frame.items, [*names, *found]):
        order = frame.pseudo["row"]
        for rows in _rows_of_runs(frame.items, [*names, *found]):
            for number, item in enumerate(rows, start=1):
                item.place[order] = number
        found.append(order)
    return found


def _is_telling(shared: Sequence[Sequence[Item]], name: str) -> bool:
    """Whether a number tells such rows apart in every run and can be no measurement: whole, different in each row, the
    same set in every run."""
    runs = [[item.row.observations.get(name) for item in rows] for rows in shared]
    whole = all(value is not None and float(value).is_integer() for values in runs for value in values)
    return whole and all(len({*values}) == len(values) for values in runs) and len({*map(frozenset, runs)}) == 1


def _rows_of_runs(items: Sequence[Item], names: Sequence[str]) -> list[list[Item]]:
    return list(by(items, lambda i: (i.case.entry, i.case.run, i.keys(names))).values())


def _shared(items: Sequence[Item], names: Sequence[str]) -> list[list[Item]]:
    return [rows for rows in _rows_of_runs(items, names) if len(rows) > 1]


def axis_notes(frame: Frame, spec: TableSpec, axes: Sequence[str]) -> list[str]:
    """Notes on undeclared axes, and on what differs between rows and is no column."""
    notes = []
    if frame.pseudo["row"] in axes:
        notes.append(
            f"{frame.pseudo['row']}: rows that one run printed with the same config, told apart by their order"
        )
    notes += [
        f"{name}: not declared, but these rows differ in it; --config {name}=VALUE, a flag of the command or"
        " an axis of the matrix makes it part of the case"
        for name in axes
        if any(name in item.row.observations for item in frame.items)
    ]
    for name in dict.fromkeys([*frame.config, *frame.facts, *spec.implied]):
        if name in axes or name == spec.pivot or not varies(frame.items, name):
            continue
        follows = _follows(frame.items, spec.pivot, name)
        said = f"with {spec.pivot}: {follows}" if follows else "between the rows and is not shown"
        notes.append(f"{name} differs {said}")
    return notes


def _follows(items: Sequence[Item], pivot: str | None, name: str) -> str:
    """`none 1, ep 4`: the one value of an axis at each pivot value; empty unless there is just one at each."""
    sides = groups(items, [pivot]) if pivot is not None else []
    if any(varies(side, name) for side in sides):
        return ""
    return ", ".join(f"{show(side[0].place.get(pivot or ''))} {show(side[0].place.get(name))}" for side in sides)


def differing(cases: Sequence[Case], names: Collection[str] = ()) -> list[str | None]:
    """The words in which the commands of the cases, and their folders, differ, for each case: `--fast`; None: no word
    that the others lack. `names` are explained beside the config of each."""
    said = [unexplained(case, names) for case in cases]
    shared = set.intersection(*(set(one.settings) for one in said)) if said else set()
    # As the first of them wrote it.
    typed = {(same_flag(flag), values): (flag, values) for one in reversed(said) for flag, values in one.flags}
    words = _without_ends([one.words for one in said])
    folders = len({case.cwd for case in cases}) > 1
    found: list[str | None] = []
    for case, one, rest in zip(cases, said, words, strict=True):
        flags = [word for setting in one.settings if setting not in shared for word in as_typed(*typed[setting])]
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
