"""The rows of two runs, each with the row of the other run that is of the same case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from logbook_agent.model.comparison import Question
from logbook_agent.model.run import Row
from logbook_agent.model.values import canonical, varied
from logbook_agent.text.phrases import listed

_SHOWN = 3


class MatchedRows(NamedTuple):
    """The rows of the two sides that are of one case, each with what tells it from the others of its run by `names`;
    those of one side `alone`, with that; and `why` some have no partner."""

    names: Sequence[str]
    pairs: Sequence[tuple[str, Row, Row]]
    alone: Sequence[tuple[str, str, Row]]
    why: str


def matched_rows(runs: Mapping[str, Sequence[Row]], axis: str) -> MatchedRows:
    """The rows of the base and of the other side, by the names of `runs`, as far as they are of one case."""
    names = _names_apart(tuple(runs.values()), axis)
    (base, first), (other, last) = ((side, _by_place(rows, names)) for side, rows in runs.items())
    found: list[tuple[str, Row, Row]] = []
    why = []
    for place in first:
        rows, partners = first[place], last.get(place, [])
        if len(rows) != len(partners):
            continue
        if _is_moved(rows, partners):
            why.append("rows that only their order tells apart come in another order")
            continue
        marks = [place] if len(rows) == 1 else [f"{place}#{number}" for number in range(1, len(rows) + 1)]
        found += zip(marks, rows, partners, strict=True)
    counts = [len(rows) for rows in runs.values()]
    if counts[0] != counts[1]:
        why.append(f"{counts[0]} rows a run against {counts[1]}")
    alone: list[tuple[str, str, Row]] = []
    for side, mine, theirs in ((base, first, last), (other, last, first)):
        if places := [place for place in mine if place and place not in theirs]:
            why.append(f"only {side} has {listed(places, _SHOWN)}")
            alone += [(side, place, row) for place in places for row in mine[place]]
    return MatchedRows(names, found, alone, "; ".join(why))


def _names_apart(runs: Sequence[Sequence[Row]], axis: str) -> list[str]:
    """The names that tell the rows of one run apart: of config, else of the words that they report."""
    names = [*dict.fromkeys(name for rows in runs for name in varied(row.config for row in rows) if name != axis)]
    if any(len(rows) > 1 for run in runs for rows in _by_place(run, names).values()):
        names += dict.fromkeys(name for rows in runs for name in varied(row.labels for row in rows))
    return names


def _is_moved(rows: Sequence[Row], partners: Sequence[Row]) -> bool:
    """Whether rows that only their order tells apart report the same numbers in another order."""
    for name in rows[0].observations if len(rows) > 1 else ():
        one, other = ([row.observations.get(name) for row in side] for side in (rows, partners))
        if one != other and len(set(one)) == len(one) and set(one) == set(other):
            return True
    return False


def other_side(question: Question, side: str, base: Row, other: Row) -> str | None:
    """Why two rows are not of the sides that their runs were made for: one reports another value of the axis; else
    None."""
    for name, row in ((question.base, base), (side, other)):
        said = canonical(row.config.get(question.axis))
        if question.axis in row.config and name != canonical(None) and said != name:
            return f"a run of {question.axis}={name} reported {question.axis}={said}"
    return None


def _by_place(rows: Sequence[Row], names: Sequence[str]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(place_of(row, names), []).append(row)
    return found


def place_of(row: Row, names: Sequence[str]) -> str:
    """What tells a row from the others of its run, by these names."""
    said = {**row.labels, **row.config}
    return " ".join(f"{name}={canonical(said[name])}" for name in names if name in said)
