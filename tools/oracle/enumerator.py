"""What every reader of a logbook must say, found in its files by other means than the package's, of which it imports
nothing: the comparisons that entries state, which pairs count, and the answer (`blocks`).

It knows logbooks as `campaign` makes them: every run reports one row, of one machine.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from tools.oracle.blocks import Measured, Outcome, judge

Data = dict[str, Any]
Place = tuple[str, str, str]
APART_S = 600


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What must be said of a metric of one side in one case: the outcome in the words of readers, the change and its
    interval as fractions, and how many pairs were judged. The pairs with a ratio are counted; `config` is that of the
    case. `replicated`: whether two sittings settle it alike; None where no second one settles it."""

    metric: str
    unit: str | None
    side: str
    config: Data
    is_watched: bool
    pairs: int
    outcome: str
    change: float | None
    interval: list[float] | None
    judged: int
    replicated: bool | None


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The question of an entry. `earlier` entries asked the same; `void`: it was taken back."""

    entry: str
    void: bool
    earlier: tuple[str, ...]
    question: Data
    findings: tuple[Finding, ...]
    confidence: str


@dataclass(frozen=True, kw_only=True)
class Pair:
    """The run of the base and that of a side which chance put in order; `place` is metric, side and case."""

    key: str
    asks: str
    place: tuple[str, str, str]
    block: int
    started: str
    ended: str
    second: int
    values: tuple[float | None, float | None]
    config: Data
    report: Data


def comparisons(book: Path) -> list[Comparison]:
    """The comparisons of a logbook, each judged from the pairs of its entry alone, in their order."""
    header = yaml.safe_load((book / "logbook.yaml").read_text())
    entries = read_entries(book)
    stated = {i: entries[i] for i in sorted(entries, key=_number) if "comparison" in entries[i]}
    found: list[Comparison] = []
    asked: dict[str, set[str]] = {}
    for entry_id, entry in stated.items():
        pairs = _pairs(book, entry, entry["comparison"]["question"], header)
        asks = {pair.asks for pair in pairs}
        earlier = tuple(i for i in asked if asked[i] & asks)
        found.append(_comparison(book, entry, pairs, earlier, header))
        if entry.get("state") != "void":
            asked[entry_id] = asks
    return found


def uncompared(book: Path) -> list[str]:
    """The entries whose runs no design drew."""
    return [i for i, e in read_entries(book).items() if "comparison" not in e and (book / "runs" / e["name"]).exists()]


def read_entries(book: Path) -> Data:
    """The entries by their IDs, which are whole names where two clones gave out one number."""
    found = {path.stem: yaml.safe_load(path.read_text()) for path in sorted((book / "entries").glob("*.yaml"))}
    numbers = {name: name.partition(".")[0] for name in found}
    ids = {name: name if [*numbers.values()].count(number) > 1 else number for name, number in numbers.items()}
    return {ids[name]: {**data, "id": ids[name], "name": name} for name, data in found.items()}


def _number(entry_id: str) -> tuple[int, str]:
    return int(entry_id.rpartition("-")[2].partition(".")[0]), entry_id


# -- the pairs of an entry -----------------------------------------------------------------------------


def _pairs(book: Path, entry: Data, question: Data, header: Data) -> list[Pair]:
    """The pairs that count: both runs finished, the same code ran (unless code is compared), and the runs have the
    order that was drawn, also where one of them was made again."""
    runs = sorted((book / "runs" / entry["name"]).glob("*/run.json"))
    declared = [m["name"] for m in header["metrics"]]
    made = [
        run
        for run in ({**json.loads(path.read_text()), "run": path.parts[-2]} for path in runs)
        if "part" in run and not run.get("discarded")
    ]
    first: dict[tuple[Any, ...], Data] = {}
    good: dict[tuple[Any, ...], Data] = {}
    for run in made:
        first.setdefault(_place(run), run)
        if run.get("exit") == {"code": 0}:
            good[_place(run)] = run
    both = [
        (good[pair, case, str(question["base"])], run)
        for (pair, case, side), run in sorted(good.items(), key=lambda item: _order(item[1]))
        if side in map(str, question["sides"]) and (pair, case, str(question["base"])) in good
    ]
    commands: dict[str, Any] = {}
    for base, _ in both:
        commands.setdefault(base["part"].get("case", ""), _words(base))
    both = [pair for pair in both if _words(pair[0]) == commands[pair[0]["part"].get("case", "")]]
    asked: Data = _asked(question, [base for base, _ in both])
    # One case alone is the case of whoever asks the same of it, however it is called.
    asked["cases"] = len({base["part"].get("case") for base, _ in both}) > 1
    return [
        pair
        for base, other in both
        if _is_as_drawn((base, other), (first[_place(base)], first[_place(other)]))
        and (question["axis"] == "code" or base["code"]["identity"] == other["code"]["identity"])
        for pair in _measured(question, asked, base, other, declared)
    ]


def _place(run: Data) -> tuple[Any, ...]:
    return run["part"]["pair"], run["part"].get("case", ""), str(run["part"]["side"])


def _order(run: Data) -> tuple[str, str]:
    return run["started"], run["run"]


def _is_as_drawn(last: tuple[Data, Data], first: tuple[Data, Data]) -> bool:
    return (_order(last[0]) < _order(last[1])) == (_order(first[0]) < _order(first[1]))


def _asked(question: Data, bases: list[Data]) -> Data:
    """What entries share that ask the same: the question, the commands of the base, in which `--k=v` is `--k v`, and
    what never changes of its config in a case."""
    if question["axis"] == "code":
        question = {**question, "base": None, "sides": None}
    commands = {json.dumps([_words(run), run.get("shell"), question["base"] and run["cwd"]]) for run in bases}
    rows = [(run["part"].get("case", ""), row["config"]) for run in bases for row in run["rows"]]
    configs = set()
    for case in {case for case, _ in rows}:
        of = [config for other, config in rows if other == case]
        same = {k: v for k, v in of[0].items() if k != question["axis"] and all(k in c and c[k] == v for c in of)}
        configs.add(json.dumps(same, sort_keys=True))
    return {"question": question, "commands": sorted(commands), "configs": sorted(configs)}


def _words(run: Data) -> list[str]:
    said = [re.sub("^(--[^=]*)=", r"\1\0", word) for word in run["argv"]]
    return "\0".join(said).split("\0")


def _conditions(question: Data, run: Data) -> Data:
    """Environment and devices of the base of a pair."""
    environment = {**run.get("env", {}).get("relevant", {}), **run.get("env", {}).get("declared", {})}
    environment = {k: v for k, v in environment.items() if question["axis"] not in ("code", f"env:{k}")}
    devices, files = run.get("devices"), run.get("code", {}).get("untracked")
    return {"in": [environment, devices, files]}


def _measured(question: Data, asked: Data, base: Data, other: Data, declared: list[str]) -> Iterator[Pair]:
    """One pair for each metric."""
    code = [base["code"]["identity"], other["code"]["identity"] if question["axis"] == "code" else None]
    ([row], [partner]) = (run["rows"] for run in (base, other))
    config = {k: v for k, v in row["config"].items() if k != question["axis"]}
    watched = [name for name in declared if name in row["metrics"] or name in partner["metrics"]]
    for metric in dict.fromkeys((*question.get("metrics", row["metrics"]), *watched)):
        yield Pair(
            key=json.dumps([asked, code, _conditions(question, base)], sort_keys=True),
            asks=json.dumps({k: v for k, v in asked.items() if k != "cases"}, sort_keys=True),
            block=(base["part"]["pair"] - 1) // 10,
            place=(metric, str(other["part"]["side"]), other["part"].get("case", "") if asked["cases"] else ""),
            started=min(base["started"], other["started"]),
            ended=max(base["ended"], other["ended"]),
            second=1 if _order(other) > _order(base) else -1,
            values=(_value(row, metric), _value(partner, metric)),
            config=config,
            report=row["metrics"].get(metric, {}),
        )


def _value(row: Data, metric: str) -> float | None:
    """The median of the samples; None where it has no logarithm."""
    samples = row["metrics"].get(metric, {}).get("samples") or [row.get("observations", {}).get(metric, 0.0)]
    value = statistics.median(samples)
    return value if value > 0 and math.isfinite(value) else None


# -- the answer ----------------------------------------------------------------------------------------


def _comparison(book: Path, entry: Data, pairs: list[Pair], earlier: tuple[str, ...], header: Data) -> Comparison:
    """The answer to the question of an entry from its pairs, those under the conditions of its last one."""
    question, design = entry["comparison"]["question"], entry["comparison"]["design"]
    is_void = entry.get("state") == "void"
    key = max(pairs, key=lambda p: p.started).key if pairs and not is_void else ""
    series: dict[tuple[str, str, str], list[Pair]] = {}
    for pair in sorted((p for p in pairs if p.key == key), key=lambda p: (p.started, p.ended)):
        series.setdefault(pair.place, []).append(pair)
    finished = _finished(book, entry["name"], question, design)
    goals = question.get("metrics")
    declared = {m["name"]: m.get("unit") for m in header["metrics"]}
    units = {name: declared.get(name) or of[0].report.get("unit") for (name, *_), of in series.items()}
    findings = []
    watched = [place for place in series if goals is not None and place[0] not in goals]

    def judged(of: dict[Place, list[Pair]]) -> list[Outcome]:
        family = [_series(pairs, finished, units[place[0]]) for place, pairs in of.items()]
        bound = math.log1p(question.get("minimum_effect", 0.01))
        timings = _timings([(place[1:], pairs) for place, pairs in of.items()])
        return judge(family, bound, once=bool(design.get("fixed")), timings=timings)

    # What is watched is judged by itself.
    for places in ([place for place in series if place not in watched], *([place] for place in watched)):
        own = {place: series[place] for place in places}
        by_sitting = [judged(of) for of in _sittings(own, finished)]
        for at, (place, said) in enumerate(zip(places, judged(own) if own else [], strict=True)):
            names = [said.name, *(one[at].name for one in by_sitting)]
            findings.append(_finding(place, series[place], names, said, header, is_watched=place in watched))
    of_goals = [f for f in findings if not f.is_watched]
    return Comparison(
        entry=entry["id"],
        void=is_void,
        earlier=earlier,
        question=question,
        findings=tuple(findings),
        confidence="replicated" if of_goals and all(f.replicated for f in of_goals) else "exploratory",
    )


def _sittings(series: dict[Place, list[Pair]], finished: int) -> Iterator[dict[Place, list[Pair]]]:
    """The pairs of each sitting, of the blocks that it began and finished; nothing where there was one alone."""
    spans = sorted({(p.started, p.ended) for pairs in series.values() for p in pairs})
    number: dict[str, int] = {}
    last = ""
    for started, ended in spans:
        gap = (datetime.fromisoformat(started) - datetime.fromisoformat(last)).total_seconds() if last else 0
        number[started] = max(number.values(), default=0) + (gap > APART_S)
        last = max(last, ended)
    count = max(number.values(), default=0) + 1
    for sitting in range(count if count > 1 else 0):
        yield {
            place: [
                p
                for p in pairs
                if p.block < finished and {number[q.started] for q in pairs if q.block == p.block} == {sitting}
            ]
            for place, pairs in series.items()
        }


def _finished(book: Path, entry_id: str, question: Data, design: Data) -> int:
    """How many blocks of an entry have every run."""
    ended: dict[tuple[int, str], set[str]] = {}
    for run in (json.loads(path.read_text()) for path in (book / "runs" / entry_id).glob("*/run.json")):
        if "part" in run and "exit" in run and not run.get("discarded"):
            ended.setdefault((run["part"]["pair"], run["part"].get("case", "")), set()).add(str(run["part"]["side"]))
    sides = {str(question["base"]), *map(str, question["sides"])}
    cases = {case for _, case in ended}
    whole = {pair for pair, _ in ended if all(sides <= ended.get((pair, case), set()) for case in cases)}
    made = max(whole, default=0)
    is_over = design.get("fixed") and made >= design.get("budget_pairs", 20)
    return math.ceil(made / 10) if is_over else made // 10


def _timings(family: list[tuple[object, list[Pair]]]) -> int:
    """How many series are no image of an earlier one of the same side and case: equal or opposite in every pair."""
    count = 0
    for at, (place, pairs) in enumerate(family):
        logs = [_log(p.values) for p in pairs]
        images = 0
        for other_place, others in family[:at]:
            both = list(zip(logs, (_log(p.values) for p in others), strict=False))
            for sign in (1, -1):
                near = [
                    (math.isnan(a) and math.isnan(b)) or abs(b - sign * a) <= 1e-5 + 0.01 * max(abs(a), abs(b))
                    for a, b in both
                ]
                images += place == other_place and len(pairs) == len(others) and all(near)
        count += not images
    return count


def _series(pairs: list[Pair], finished: int, unit: str | None) -> Measured:
    """The pairs of one metric, side and case as the rule wants them: a last block waits until it is finished."""
    if pairs and pairs[-1].block >= finished:
        pairs = [p for p in pairs if p.block != pairs[-1].block]
    later = [_log(p.values) * p.second for p in pairs]
    ends = {p.block: at + 1 for at, p in enumerate(pairs) if not math.isnan(later[at])}
    return Measured(
        later=later,
        second=[p.second for p in pairs],
        block=[p.block for p in pairs],
        steps=[
            _step([v for p in pairs[:end] if None not in p.values for v in p.values], unit) for end in ends.values()
        ],
    )


def _log(values: tuple[float | None, float | None]) -> float:
    base, other = values
    return math.log(other / base) if base is not None and other is not None else math.nan


def _step(values: list[float], unit: str | None) -> float:
    """How far apart the two readings are that lie closest, relative to the least of all; whole numbers that are no
    times were counted."""
    if not (unit and re.fullmatch("[mun]?s|.*/[mun]?s", unit)) and all(v == int(v) for v in values):
        return 0.0
    apart = [b - a for a, b in zip(sorted(values), sorted(values)[1:], strict=False) if b - a > 1e-5 * b]
    return min(apart) / min(values) if apart else math.inf


def _finding(
    place: Place, pairs: list[Pair], names: list[str], said: Outcome, header: Data, *, is_watched: bool
) -> Finding:
    metric, side, _ = place
    declared = next((m for m in header["metrics"] if m["name"] == metric), {})
    direction = declared.get("direction") or pairs[0].report.get("direction")
    words = {"open": "open", "same": "no difference", ("more" if direction == "max" else "less"): "better"}
    settled = [name for name in names[1:] if name != "open"]
    replicated = None if said.name == "open" or len(settled) < 2 else True
    if said.name != "open" and {*settled} - {said.name}:
        replicated = False
    ends = None if said.low is None or said.high is None else [math.expm1(said.low), math.expm1(said.high)]
    return Finding(
        metric=metric,
        unit=declared.get("unit") or pairs[0].report.get("unit"),
        side=side,
        config=pairs[0].config,
        is_watched=is_watched,
        pairs=sum(None not in p.values for p in pairs),
        outcome=words.get(said.name, "worse"),
        change=None if said.estimate is None else math.expm1(said.estimate),
        interval=ends,
        judged=said.pairs,
        replicated=replicated,
    )


def imports(path: Path) -> set[str]:
    """The top-level names of what a module imports."""
    found = re.findall(r"^\s*(?:from|import)\s+([\w.]+)", path.read_text(), re.MULTILINE)
    return {name.split(".")[0] if not name.startswith("tools.") else name for name in found}
