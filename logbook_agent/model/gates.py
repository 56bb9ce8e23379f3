"""Gates: what a row must fulfil to count. And runs as whoever judges sees them: a row that breaks a gate, that belongs
to a withheld run, or that measured a zero far from all other values, is a row that failed.

Gates are judged when rows are read, never stored with them: a changed header judges old rows again.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec import Struct, structs

from logbook_agent.model.run import Failure, Measurement, Row, Run
from logbook_agent.model.units import Direction, is_time, is_timed
from logbook_agent.model.values import Scalar, canonical, finite, parse_scalar

SAME = "same"
# The reasons why a row fails that was measured. What a source reports is withheld, and its numbers are shown.
GATE, WITHHELD, REPORTED = JUDGED = ("gate", "withheld", "reported")
_ORDERS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
_NAME = r"[A-Za-z_][\w./-]*"
_FORM = re.compile(rf"(?P<name>{_NAME})\s*(?P<op>==|!=|<=|>=|=<|=>|<|>|=)\s*(?P<value>[^\s=<>!]\S*)")
# Other ways to write them.
_OPS = {"=": "==", "=<": "<=", "=>": ">="}
_SAME = re.compile(rf"{SAME}\s+(?P<name>{_NAME})")
# A count up to here may well be 0 in one run and not in another.
_COUNT = 10
# A number without a unit is near 0 below this.
_NEAR = 0.01
# Values of one size lie within this factor.
_ONE_SIZE = 10
# Names of what is best at 0.
_BEST_AT_0 = re.compile(
    r"err|fail|miss|diff|violation|warn|leak|conflict|regress|drop|skip|retr|overflow|stall|idle|lag"
)


class Gate(Struct, frozen=True):
    """`ok == 1`, `max_error <= 1e-3`, or `same checksum`, whose two sides of a pair must agree. `since`: when it was
    added to a logbook (UTC); empty where it was there from the start."""

    name: str
    op: str
    value: str = ""
    since: str = ""

    def __str__(self) -> str:
        return f"{SAME} {self.name}" if self.op == SAME else f"{self.name} {self.op} {self.value}"

    def limits(self, metrics: Collection[str]) -> bool:
        """Whether it holds or not by the value of one of these metrics."""
        return self.op != SAME and self.name in metrics

    def broken_by(self, row: Row) -> str:
        """What a row says that does not fulfil the gate, such as `ok is 0`; empty where it does."""
        values = values_of(row, self.name)
        if not values:
            return f"{self.name} is not reported"
        bad = next((v for v in values if self.op != SAME and not self._holds(v)), None)
        return "" if bad is None else f"{self.name} is {bad}"

    def _holds(self, value: str) -> bool:
        if self.op in ("==", "!="):
            return (_word(value) == _word(self.value)) == (self.op == "==")
        number, limit = finite(parse_scalar(value)), finite(parse_scalar(self.value))
        return number is not None and limit is not None and _ORDERS[self.op](number, limit)


def _word(text: str) -> str:
    """One spelling of a word or number: `FAIL` is `fail`, and true is 1."""
    word = canonical(text).casefold()
    return {"true": "1", "false": "0"}.get(word, word)


def parse_gate(text: str) -> Gate:
    """The gate that a text states. Raises ValueError."""
    text = text.strip()
    if found := _SAME.fullmatch(text):
        return Gate(found["name"], SAME)
    found = _FORM.fullmatch(text)
    op = _OPS.get(found["op"], found["op"]) if found is not None else ""
    if found is None or (op in _ORDERS and finite(parse_scalar(found["value"])) is None):
        raise ValueError(f"{text[:80]!r} is not a gate; gates are 'ok == 1', 'max_error <= 1e-3', 'same checksum'")
    return Gate(found["name"], op, found["value"])


def gates_of(*stated: Sequence[str], since: Mapping[str, str] | None = None) -> tuple[Gate, ...]:
    """The gates that several places state, each once, with the times `since` when some were added."""
    texts = dict.fromkeys(text for texts in stated for text in texts)
    return tuple(structs.replace(parse_gate(text), since=(since or {}).get(text, "")) for text in texts)


def values_of(row: Row, name: str) -> tuple[str, ...]:
    """Everything that a row reports under a name, in one spelling."""
    if (measured := row.metrics.get(name)) is not None:
        return tuple(map(canonical, measured.samples))
    said: dict[str, Scalar] = {**row.config, **row.labels, **row.observations}
    return (canonical(said[name]),) if said.get(name) is not None else ()


def judged(runs: Sequence[Run], gates: Sequence[Gate], accepted: Collection[int] = ()) -> tuple[Run, ...]:
    """The runs with every row failed that does not count. `accepted` are the numbers of runs whose withheld problems
    somebody accepted."""
    zeros = sentinels(row for run in runs for row in run.rows)

    def of_row(run: Run, row: Row) -> Row:
        if row.failed is not None:
            return row
        problems = [p for p in run.problems if p.grade == "failed" or (p.grade == WITHHELD and run.run not in accepted)]
        if problems:
            return _failed(row, REPORTED if run.is_reported else problems[0].grade, problems[0].text)
        for gate in gates if row.metrics else ():
            if why := gate.broken_by(row):
                return _failed(row, f"{GATE} {gate}", why)
        zero = next((name for name, m in row.metrics.items() if name in zeros and is_nothing(name, m)), None)
        if zero is not None and run.run not in accepted:
            least = min(row.metrics[zero].samples)
            why = "which no clock measures" if least < 0 else "and every other value is far from it"
            return _failed(row, WITHHELD, f"{zero} is {least:g}, {why}")
        return row

    return tuple(
        structs.replace(run, rows=rows) if rows != run.rows else run
        for run in runs
        for rows in [tuple(of_row(run, row) for row in run.rows)]
    )


def _failed(row: Row, reason: str, message: str) -> Row:
    return structs.replace(row, failed=Failure(reason=reason, message=message))


def fails(run: Run) -> Failure | None:
    """Why no row of a run counts; None where one does, or there is none."""
    return run.rows[0].failed if run.rows and all(row.failed is not None for row in run.rows) else None


def failed_text(reasons: Iterable[str]) -> str:
    """`failed: out_of_memory / gate ok == 1`, or `withheld` where a person may let it count."""
    distinct = [*dict.fromkeys(reasons)]
    return distinct[0] if distinct in ([WITHHELD], [REPORTED]) else f"failed: {' / '.join(distinct)}"


def is_nothing(name: str, measured: Measurement) -> bool:
    """Whether a sample may stand for a crash: a zero, or a time below it; where more is better, a time is a difference
    of times."""
    is_below = min(measured.samples, default=0) < 0 and measured.direction != "max"
    return 0 in measured.samples or (is_below and is_time(name, measured.unit))


def sentinels(rows: Iterable[Row]) -> set[str]:
    """The metrics whose zeros in these rows are far from their other values, and times below zero."""
    found: dict[str, list[Measurement]] = {}
    for row in rows:
        for name, measured in row.metrics.items() if row.failed is None else ():
            found.setdefault(name, []).append(measured)
    return {
        name
        for name, of in found.items()
        if any(is_nothing(name, m) for m in of)
        and is_far(
            name, [v for m in of for v in m.samples if v], of[0].direction, next((m.unit for m in of if m.unit), "")
        )
    }


def is_far(name: str, others: Sequence[float], direction: Direction | None, unit: str | None) -> bool:
    """Whether a zero is no measurement beside these values: it stands for a crash. No time and no rate is 0. Else the
    other values are of one size, are no small counts, no tiny errors, and no parts of 1 where more is better, and the
    name is none that is best at 0: of these, 0 is a plain result."""
    if is_timed(unit) or (is_time(name, unit) and min(others, default=0) < 0):
        return True
    sizes = [abs(value) for value in others]
    if not sizes or min(sizes) < max(sizes) / _ONE_SIZE or _BEST_AT_0.search(name):
        return False
    are_counts = max(sizes) <= _COUNT and all(value.is_integer() for value in sizes)
    return not are_counts and min(sizes) >= _NEAR and not (direction == "max" and max(sizes) <= 1)
