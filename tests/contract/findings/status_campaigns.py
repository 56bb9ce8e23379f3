"""Campaigns of many entries, made at random, and what their files say by other means than the package's findings, of
which nothing is imported here: what is settled, refuted, decided, open, lacking, failed and next.

Comparisons are made so that no rule could take them otherwise: ten pairs whose sides lie 10% or more apart, or three.
"""

from __future__ import annotations

import json
import math
import random
import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from tests.seams import Store, order_of_pair
from tests.stored import at, number_of

Data = dict[str, Any]
TOPIC, PREFIX = "campaign", "CMP"
_START = datetime(2026, 2, 10, tzinfo=UTC)
_KINDS = {
    "single": 30, "failed": 8, "decision": 8, "refuted": 8, "planned": 5, "blocked": 3, "void": 3, "abandoned": 3,
    "next": 10, "continues": 6, "supersedes": 3, "settled": 5, "open": 3,
}  # fmt: skip
# So many comparisons at most: each takes up to 20 runs.
_COMPARISONS = 24
_WORDS = "the tile of an expert “fits” in VMEM ✓ and loses at `topk=4`, see null_frac and 𝔘nicode too".split()  # noqa: SIM905


# -- the campaigns -------------------------------------------------------------------------------------------


def campaign(folder: Path, seed: int, entries: int) -> None:
    """Write a campaign of so many entries below a folder."""
    Maker(random.Random(seed), folder, entries).make()


class Maker:
    """Writes the files of the entries and runs of one campaign."""

    def __init__(self, draw: random.Random, folder: Path, entries: int) -> None:
        self.draw, self.count = draw, entries
        self.comparisons = _COMPARISONS
        self.store = Store(folder, TOPIC)
        header = {
            "topic": TOPIC, "prefix": PREFIX, "title": self.text(6), "opened": _START.isoformat(),
            "goal": self.text(12), "metrics": [{"name": "time_s", "direction": "min", "unit": "s"}],
            "stop_criteria": [self.criterion(number) for number in range(draw.randrange(7))],
        }  # fmt: skip
        if draw.random() < 0.3:
            header |= {"summary": self.text(20), "summary_at": _START.isoformat()}
        self.store.write(self.store.header_path, header)

    def make(self) -> None:
        for number in range(self.count):
            kind = self.draw.choices([*_KINDS], [*_KINDS.values()])[0]
            if kind in ("settled", "open"):
                self.comparisons -= 1
                kind = kind if self.comparisons >= 0 else "single"
            getattr(self, f"_{kind}")(f"{PREFIX}-{number:03d}", number)

    def text(self, most: int) -> str:
        words = self.draw.choices(_WORDS, k=self.draw.randint(1, most))
        return " ".join([*words, str(self.draw.randrange(10**6))])

    def criterion(self, number: int) -> Data:
        text = {"text": f"{number} {self.text(8)}"}
        if self.draw.random() < 0.3:
            return text | {"predicate": {"budget": {"runs": self.draw.choice([1, 10**6])}}}
        met = self.draw.choice([None, True, False])
        judged = {"met": met, "evidence": "https://ci.example.org/1", "by": "a", "at": _START.isoformat()}
        return text if met is None else text | {"judgement": judged}

    def entry(self, entry_id: str, number: int, **more: Any) -> None:
        said = [{"label": label, "text": text} for label, text in more.pop("fields", {}).items()]
        opened = (_START + timedelta(minutes=10 * number)).isoformat()
        more = {key: value for key, value in more.items() if value is not None}
        entry = {"id": entry_id, "title": self.text(5), "opened": opened, "fields": said, **more}
        self.store.write(self.store.entry_path(entry_id), entry)

    def run(self, entry_id: str, number: int, value: float | None, config: Data | None = None, **more: Any) -> None:
        run = len(self.store.run_paths(entry_id)) + 1
        at = _START + timedelta(minutes=10 * number, seconds=3 * run)
        config = config or {"mode": self.draw.choice("abc"), "size": 2 ** self.draw.randrange(3), "tile": 128}
        row = {"config": config, "metrics": {"time_s": {"samples": [value], "unit": "s"}}}
        made = {
            "entry": entry_id, "run": run, "argv": ["bench", "--mode", config["mode"]], "started": at.isoformat(),
            "ended": (at + timedelta(seconds=1)).isoformat(), "duration_s": 1.0, "exit": {"code": 0},
            "rows": [] if value is None else [row],
        }  # fmt: skip
        self.store.write(self.store.run_path(entry_id, run), made | more)

    def _single(self, entry_id: str, number: int, **more: Any) -> None:
        self.entry(entry_id, number, **more)
        for _ in range(self.draw.randint(1, 3)):
            self.run(entry_id, number, self.draw.uniform(1, 2))

    def _failed(self, entry_id: str, number: int) -> None:
        self.entry(entry_id, number)
        output = {"bytes": 4, "lines": 1, "sha256": "0" * 64, "tail": ["error: no"]}
        self.run(entry_id, number, None, exit={"code": 3}, output=output)

    def _decision(self, entry_id: str, number: int) -> None:
        self.entry(entry_id, number, kind="decision", fields={"Decision": self.text(9)})

    def _refuted(self, entry_id: str, number: int) -> None:
        self._single(entry_id, number, fields={"Negative result": self.text(9)})

    def _planned(self, entry_id: str, number: int) -> None:
        self.entry(entry_id, number, state="planned", commands=[{"argv": ["bench", "x"]}])

    def _blocked(self, entry_id: str, number: int) -> None:
        self.entry(entry_id, number, state="blocked", fields={"Next action": self.text(9)})

    def _void(self, entry_id: str, number: int) -> None:
        self._single(entry_id, number, state="void", fields={"Negative result": self.text(4), "Next action": "x"})

    def _abandoned(self, entry_id: str, number: int) -> None:
        fields = {"Negative result": self.text(4), "Next action": "x"} if self.draw.random() < 0.5 else {}
        self._single(entry_id, number, state="abandoned", fields=fields)

    def _next(self, entry_id: str, number: int) -> None:
        self._single(entry_id, number, fields={"Next action": self.text(9), "Interpretation": self.text(12)})

    def _continues(self, entry_id: str, number: int) -> None:
        self._single(entry_id, number, continues=self._earlier(number))

    def _supersedes(self, entry_id: str, number: int) -> None:
        self._single(entry_id, number, supersedes=self._earlier(number))

    def _earlier(self, number: int) -> str | None:
        return f"{PREFIX}-{self.draw.randrange(number):03d}" if number else None

    def _settled(self, entry_id: str, number: int) -> None:
        self._compared(entry_id, number, pairs=10)

    def _open(self, entry_id: str, number: int) -> None:
        self._compared(entry_id, number, pairs=3)

    def _compared(self, entry_id: str, number: int, pairs: int) -> None:
        # A question of its own: no two entries share one.
        modes, seed = (f"old{number}", f"new{number}"), self.draw.randrange(10**6)
        factor = self.draw.choice([0.5, 0.8, 0.9, 1.2, 2.0])
        question = {"axis": "mode", "base": modes[0], "sides": [modes[1]], "metrics": ["time_s"]}
        self.entry(entry_id, number, comparison={"question": question, "design": {"seed": seed, "budget_pairs": 20}})
        for pair in range(1, pairs + 1):
            level = self.draw.uniform(1, 1.1)
            for place in order_of_pair(seed, pair):
                # So little noise that the median of the pairs and the estimate of the rule are one number.
                value = level * (factor if place else 1) * self.draw.uniform(0.9999, 1.0001)
                config = {"mode": modes[place], "size": 1, "tile": 128}
                self.run(entry_id, number, value, config, part={"pair": pair, "side": modes[place]})


# -- what their files say --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Said:
    """What the files of a campaign say, by kind of line of `status`: the names of the lines, the most useful first,
    each with what it must say. `states` counts entries."""

    lines: dict[str, list[tuple[str, Data]]]
    states: Counter[str]


def read(folder: Path) -> Said:
    """The lines that the files of a campaign bear out."""
    place = folder / "logbooks" / TOPIC
    header = yaml.load((place / "logbook.yaml").read_text(), yaml.CSafeLoader)
    entries = sorted(map(_entry, (place / "entries").glob("*.yaml")), key=lambda e: int(e["id"].rpartition("-")[2]))
    newest = entries[::-1]
    standing = [e for e in newest if e["is"] not in ("void", "abandoned")]
    taken_up = {e.get(name) for e in standing for name in ("continues", "completes", "supersedes")}
    replaced = {e.get("supersedes") for e in standing}
    # A superseded comparison still settles a negative result of its own, which is not listed either.
    compared = [(e, _change(e)) for e in standing if e.get("comparison") and e["id"] not in replaced]
    settled = {e["id"]: change for e, change in compared if _pairs(e) >= 10}
    greatest = sorted(compared, key=lambda one: -round(abs(math.log1p(one[1])), 2))
    lines = {
        "answers.settled": [(e["id"], _answer(e, c)) for e, c in greatest if e["id"] in settled],
        "answers.open": [(e["id"], _answer(e, c)) for e, c in compared if e["id"] not in settled],
        "decisions": [
            (e["id"], {"text": e["says"]["Decision"]})
            for e in newest
            if e.get("kind") == "decision" and e["id"] not in replaced
        ],
        "negative_results": [
            (e["id"], {"text": e["says"].get("Negative result")})
            for e in newest
            if e["is"] != "void" and e["id"] not in replaced
            if "Negative result" in e["says"] or settled.get(e["id"], 0.0) > 0
        ],
        "failed": [(e["id"], {}) for e in newest if e["is"] == "failed" and e["id"] not in replaced],
        "open": [(e["id"], {"state": state}) for state in ("blocked", "planned") for e in newest if e["is"] == state],
        "next_actions": [
            (e["id"], {"next": e["says"]["Next action"]})
            for e in standing
            if e["is"] != "blocked" and "Next action" in e["says"] and e["id"] not in taken_up
        ],
        **_criteria(header, sum(len(e["runs"]) for e in entries)),
    }
    return Said(lines=lines, states=Counter(e["is"] for e in entries))


def _entry(path: Path) -> Data:
    """An entry with its runs, `is`: its state, and `says`: its fields."""
    entry: Data = yaml.load(path.read_text(), yaml.CSafeLoader)
    runs = at(path.parent.parent / "runs" / entry["id"]).glob("*/run.json")
    entry["runs"] = [json.loads(run.read_text()) for run in sorted(runs, key=lambda run: number_of(run.parent))]
    good = all(run["exit"] == {"code": 0} for run in entry["runs"])
    entry["is"] = entry.get("state") or ("noted" if not entry["runs"] else "finished" if good else "failed")
    entry["says"] = {one["label"]: one["text"] for one in entry.get("fields") or ()}
    return entry


def _answer(entry: Data, change: float) -> Data:
    """What is said of a comparison."""
    return {"change": change, "pairs": _pairs(entry)}


def _pairs(entry: Data) -> int:
    return max(run["part"]["pair"] for run in entry["runs"])


def _change(entry: Data) -> float:
    """By how much the side takes more time than the base, as a fraction: the median over pairs."""
    base = entry["comparison"]["question"]["base"]
    of: dict[int, dict[bool, float]] = {}
    for run in entry["runs"]:
        value = run["rows"][0]["metrics"]["time_s"]["samples"][0]
        of.setdefault(run["part"]["pair"], {})[run["part"]["side"] == base] = value
    return statistics.median(pair[False] / pair[True] for pair in of.values()) - 1


def _criteria(header: Data, runs: int) -> dict[str, list[tuple[str, Data]]]:
    found: list[tuple[str, Data]] = []
    for one in header.get("stop_criteria") or ():
        asked = (one.get("predicate") or {}).get("budget")
        met = runs >= asked["runs"] if asked is not None else bool((one.get("judgement") or {}).get("met"))
        found.append((one["text"], {"met": met}))
    return {"criteria": sorted(found, key=lambda line: line[1]["met"])}


# -- the documented order --------------------------------------------------------------------------------------

# The sections, the first of which stays the longest.
SECTIONS = (
    *("answers.settled", "answers.open", "decisions", "criteria", "open", "next_actions", "negative_results", "failed"),
)
SHOWN = 3


def sections(said: Said) -> Iterator[tuple[str, list[str]]]:
    """The names of the lines of each section, and of these the first three; of answers two, and the latest entry."""
    for kind in SECTIONS:
        names = [name for name, _ in said.lines[kind]]
        latest = max(names, key=_number) if kind.startswith("answers.") and names else None
        is_late = latest is not None and latest not in names[:SHOWN]
        yield kind, [*names[: SHOWN - 1], latest] if latest is not None and is_late else names[:SHOWN]


def _number(entry_id: str) -> int:
    return int(entry_id.partition("-")[2].partition(".")[0])
