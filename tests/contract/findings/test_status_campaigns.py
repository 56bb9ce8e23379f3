"""`status --budget` over generated campaigns, against an enumeration of their files."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.contract.findings.status_campaigns import SECTIONS, Data, Said, campaign, read, sections

BUDGET = 6000
_CHANGE = re.compile(r"([\d.,]+)% (more|less) time|, ([-+][\d.,]+)% so far")
SEEDS = [(seed, count) for count, seeds in ((20, 40), (300, 15), (3000, 2)) for seed in range(seeds)]


@pytest.mark.parametrize(("seed", "entries"), [(1, 20), (2, 20), (3, 300)])
@pytest.mark.slow
def test_what_stands_in_a_status_is_the_top_of_what_the_files_say(
    cli: Cli, folder: Path, seed: int, entries: int
) -> None:
    check(cli, folder, seed, entries)


@pytest.mark.wide
@pytest.mark.parametrize(("seed", "entries"), SEEDS)
def test_generated_campaigns(cli: Cli, folder: Path, seed: int, entries: int) -> None:
    check(cli, folder, 1000 + seed, entries)


def check(cli: Cli, folder: Path, seed: int, entries: int) -> None:
    campaign(folder, seed, entries)
    said = read(folder)
    answer = cli("status", "--json", "--budget", str(BUDGET))
    assert answer.code == 0, answer.err
    assert len(answer.out.encode()) <= BUDGET
    assert re.findall(r"(?m)\bnull,?$", answer.out) == []
    data = answer.data
    assert {k: n for k, n in data["entries"].items() if k != "total"} == dict(said.states)
    if not said.lines["next_actions"]:
        # Then one line says what else comes next, of an entry that waits.
        waiting = {name for kind in ("open", "answers.open") for name, _ in said.lines[kind]}
        assert {one.get("id") for one in data["next_actions"]} <= {*waiting, None}
        data["next_actions"] = []
    shown, left_out = named(data), dict(data.get("left_out", {}))
    assert shown.keys() <= {*SECTIONS}
    # Each section has its first three lines or, after the last one that fits, none.
    due = {kind: names for kind, names in sections(said) if names}
    there = [kind for kind in due if shown.get(kind)]
    assert there == [*due][: len(there)], (there, [*due])
    assert {kind: sorted(names) for kind, names in shown.items()} == {kind: sorted(due[kind]) for kind in there}
    counts: Counter[str] = Counter()
    for kind, lines_of in said.lines.items():
        counts[kind.partition(".")[0]] += len(lines_of) - len(shown.get(kind, ()))
    assert {k: n for k, n in left_out.items() if k in counts} == {k: n for k, n in counts.items() if n}
    assert [fault for kind, name, line in lines(data) for fault in wrong(said, kind, name, line)] == []
    text = cli("status", "--budget", str(BUDGET)).out
    assert len(text.encode()) <= BUDGET
    # A page says what JSON says, in fewer bytes.
    assert [name for kind, name, _ in lines(data) if kind != "criteria" and name not in text] == []


def lines(data: Data) -> list[tuple[str, str, Any]]:
    """Section, name and value of each line."""
    found = [("answers.settled" if one["settled"] else "answers.open", one["id"], one) for one in data["answers"]]
    found += [("criteria", c["text"], c) for c in data["criteria"]]
    found += [("open", e["id"], {**e, "state": state}) for state, of in data["open"].items() for e in of]
    for kind in ("decisions", "negative_results", "failed"):
        found += [(kind, one["id"], one) for one in data[kind]]
    # A stop criterion is a next step of no entry.
    return found + [("next_actions", one.get("id", ""), one) for one in data["next_actions"]]


def named(data: Data) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for kind, name, _ in lines(data):
        found.setdefault(kind, []).append(name)
    return found


def wrong(said: Said, kind: str, name: str, line: Data) -> list[str]:
    """What a line says that the files do not bear out."""
    due = [expected for known, expected in said.lines[kind] if known == name]
    if any(all(_bears_out(key, value, line) for key, value in expected.items()) for expected in due):
        return []
    return [f"{kind} {name} says {json.dumps(line, ensure_ascii=False)}, the files {due}"]


def _bears_out(key: str, value: Any, line: Data) -> bool:
    """Whether a line says this of the files, and no more."""
    if key == "change":
        found = _CHANGE.search(line["answer"])
        if found is None or line["settled"] is (found[1] is None):
            return False
        percent = float((found[1] or found[3]).replace(",", "")) * (-1 if found[2] == "less" else 1)
        return abs(percent - 100 * value) <= 0.01 * abs(percent)
    if key == "pairs":
        return f"{value} pairs" in line["answer"]
    return value is None or line[key] == value
