"""What is chosen after the result was seen settles nothing: runs, entries, cases, metrics, the end of a plan."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from logbook_agent.model.draw import order_of_round
from logbook_agent.model.entry import Design
from logbook_agent.store.book import Book
from logbook_agent.sweeps.ab_prepare import any_seed
from tests.conftest import Cli, FixedClock
from tests.recipes.sweep_support import write_recipe

pytestmark = pytest.mark.slow

# Each run takes the next line of the values of its side.
BENCH = """\
n=$(($(cat n.$2 2>/dev/null || echo 0) + 1)); echo $n > n.$2
printf '%b\\n' "$(sed -n "${n}p" v.$2)"
"""
COMMAND = ("--", "sh", "bench.sh", "--mode", "{axis}")


def scripted(folder: Path, **sides: list[str]) -> None:
    """`sides` are the lines that the runs of each side print."""
    (folder / "bench.sh").write_text(BENCH)
    for side, lines in sides.items():
        (folder / f"v.{side}").write_text("".join(f"{line}\n" for line in lines))


def result(side: str, value: float, **more: float) -> str:
    return f"RESULT mode={side} tflops={value}" + "".join(f" {name}={number}" for name, number in more.items())


def series(side: str, values: list[float]) -> list[str]:
    return [result(side, value) for value in values]


def metrics(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [m for one in answer["comparisons"] for pair in one["pairs"] for m in pair["metrics"]]


def faster(runs: int, by: float = 1.02) -> dict[str, list[str]]:
    plain = [100 + n % 3 / 10 for n in range(runs)]
    return {"a": series("a", plain), "b": series("b", [round(by * value, 3) for value in plain])}


@pytest.mark.slow
def test_entries_of_one_pair_each_count_as_many_looks(started: Cli, folder: Path, clock: FixedClock) -> None:
    scripted(folder, **faster(7))
    words = ["criteria", "--add", "Faster", "--predicate", "verdict: {axis: mode, values: [a, b]}"]
    assert started(*words).code == 0
    for _ in range(7):
        clock.tick()
        assert started("ab", "--axis", "mode=a,b", "--repeat", "1", *COMMAND).code == 0
    entries = [f"MOE-00{n}" for n in range(7)]
    found = started("compare", *entries, "--axis", "mode", "--base", "a", "--json").data
    [m] = metrics(found)
    assert (m["looks"], m["p_value"], m["verdict"]) == (7, 2 / 2**7, "inconclusive")
    [criterion] = started("criteria", "--json").data["criteria"]
    assert criterion["computed"]["state"] == "unmet"
    # Those that were left out are named.
    some = started("compare", *entries[:5], "--axis", "mode", "--base", "a")
    assert "warning: MOE-005, MOE-006 ask the same (mode against a) and are left out" in some.err


@pytest.mark.slow
def test_runs_that_are_picked_settle_nothing(started: Cli, folder: Path) -> None:
    # b is better in eight of twelve pairs, which are named afterwards.
    better = [1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0]
    a = [100.0 + n / 10 for n in range(12)]
    scripted(
        folder, a=series("a", a), b=series("b", [v + (1.5 if up else -1.6) for v, up in zip(a, better, strict=True)])
    )
    assert started("ab", "--axis", "mode=a,b", "--repeat", "12", *COMMAND).code == 0
    lucky = [f"MOE-000/{2 * n + side}" for n, up in enumerate(better) if up for side in (1, 2)]
    answer = started("compare", *lucky, "--axis", "mode", "--base", "a")
    assert "not settled: runs of a case were left out, so that the choice may be what is measured; " in answer.out
    assert "to settle it: name entries, not runs of them" in answer.out
    [m] = metrics(started("compare", *lucky, "--axis", "mode", "--base", "a", "--json").data)
    assert (m["order"], m["withheld_by"]) == ("picked", ["order"])
    # All of them, however they are named, are no choice.
    every = [f"MOE-000/{n}" for n in range(1, 25)]
    [m] = metrics(started("compare", *every, "--axis", "mode", "--base", "a", "--json").data)
    assert (m["order"], m["withheld_by"]) == ("drawn", [])


@pytest.mark.parametrize(
    ("row", "narrow", "predicate"),
    [
        ("RESULT mode={side} tflops={clear} mem={mixed}", ("--metric", "tflops"), "metric: tflops"),
        (
            r"RESULT mode={side} size=1 tflops={clear}\nRESULT mode={side} size=2 tflops={mixed}",
            ("--where", "size=1"),
            "where: {size: 1}",
        ),
    ],
)
@pytest.mark.slow
def test_a_narrower_question_is_one_of_those_that_were_asked(
    cli: Cli, folder: Path, row: str, narrow: tuple[str, str], predicate: str
) -> None:
    """Of two tests one is clear in all six pairs, and alone it would be enough. It was not alone."""
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max", "--metric", "mem:min").code == 0
    sides = {
        side: [
            row.format(side=side, clear=clear + n / 10, mixed=50 + (n % 2) * (1 if side == "a" else -1))
            for n in range(6)
        ]
        for side, clear in (("a", 100), ("b", 103))
    }
    scripted(folder, **sides)
    assert cli("ab", "--axis", "mode=a,b", "--repeat", "6", *COMMAND).code == 0
    [shown] = cli("show", "MOE-000", "--json").data["comparisons"]
    whole = {(m["p_value"], m["tests"], m["verdict"]) for m in metrics(shown) if m["p_value"] < 0.05}
    assert whole == {(2 / 2**6, 2, "inconclusive")}
    [m] = metrics(cli("compare", "MOE-000", "--axis", "mode", "--base", "a", *narrow, "--json").data)[:1]
    assert (m["p_value"], m["tests"], m["verdict"]) == (2 / 2**6, 2, "inconclusive")
    words = ["criteria", "--add", "Faster", "--predicate", f"verdict: {{axis: mode, values: [a, b], {predicate}}}"]
    assert cli(*words).code == 0
    [criterion] = cli("criteria", "--json").data["criteria"]
    assert criterion["computed"]["state"] == "unmet"


@pytest.mark.slow
def test_a_shuffled_sweep_is_judged_when_it_is_whole(started: Cli, folder: Path) -> None:
    recipe = """\
name: two
question: Which is faster?
command: [bash, bench.sh, "{mode}"]
axes: {mode: [a, b]}
compare: {axis: mode, base: a}
repeats: 8
order: shuffled
metrics: [tflops]
confirm: 0
"""
    stop = '[ -e on ] || [ "$LOGBOOK_RUN" -ne 11 ] || { kill -INT $PPID; sleep 5; }\n'
    values = "".join(
        f"[ $1 = {side} ] && echo RESULT mode={side} tflops={value}.$RANDOM; "
        for side, value in (("a", 100), ("b", 110))
    )
    write_recipe(folder, recipe, bench=f"{stop}{values}true\n", name="two")
    assert started("sweep", "two").code == 130
    [shown] = started("show", "MOE-000", "--json").data["comparisons"]
    [m] = metrics(shown)
    assert m["order"] == "shuffled"
    assert m["verdict"] == "inconclusive"
    assert "of 8 planned runs of each side: the result is judged when all are there" in m["reasons"][0]
    (folder / "on").touch()
    assert started("sweep", "two").code == 0
    [shown] = started("show", "MOE-000", "--json").data["comparisons"]
    assert [m["verdict"] for m in metrics(shown)] == ["beneficial"]


def test_a_pair_that_was_completed_an_hour_later_is_none(started: Cli, folder: Path, clock: FixedClock) -> None:
    scripted(folder, **faster(8))
    (folder / "bench.sh").write_text('[ -e on ] || [ "$LOGBOOK_RUN" -ne 8 ] || exit 3\n' + BENCH)
    assert started("ab", "--axis", "mode=a,b", "--seed", "5", "--repeat", "6", *COMMAND).code == 3
    (folder / "on").touch()
    runs = folder / "logbooks/moe/runs/MOE-000"
    for path in runs.glob("*/run.json"):
        record = json.loads(path.read_text())
        for name in ("started", "ended"):
            day, time = record[name].split("T", 1)
            record[name] = f"{day[:-2]}{int(day[-2:]) - 1:02d}T{time}"
        stat = path.stat()
        path.write_text(json.dumps(record))
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1_000_000_000))
    clock.tick()
    assert started("ab", "--axis", "mode=a,b", "--id", "MOE-000", "--repeat", "3", *COMMAND).code == 0
    [shown] = started("show", "MOE-000", "--json").data["comparisons"]
    [m] = metrics(shown)
    assert m["verdict"] == "inconclusive", "five pairs are left"
    assert "runs without a partner left out" in " ".join(m["reasons"])


@pytest.mark.slow
def test_a_value_that_is_none_leaves_its_pair_out_and_is_counted(started: Cli, folder: Path) -> None:
    sides = faster(8)
    sides["a"][2] = result("a", float("nan"))
    sides["b"][5] = result("b", float("nan"))
    scripted(folder, **sides)
    answer = started("ab", "--axis", "mode=a,b", "--repeat", "8", *COMMAND)
    assert answer.code == 0, answer.err
    assert "6 pairs, p = 0.031" in answer.out
    [m] = metrics(started("show", "MOE-000", "--json").data["comparisons"][0])
    assert m["verdict"] == "beneficial", "all that was planned was run"


@pytest.mark.slow
def test_what_stands_beside_a_verdict_goes_with_it(started: Cli, folder: Path, clock: FixedClock) -> None:
    scripted(folder, **faster(6, by=0.95))
    for place, side in enumerate("abbaabbaabba"):
        clock.tick()
        more = ["--id", "MOE-000"] if place else []
        assert started("run", *more, "--", "sh", "bench.sh", "--mode", side).code == 0
    assert started("compare", "MOE-000", "--axis", "mode", "--base", "a", "--save", "MOE-000").code == 0
    predicate = "verdict: {axis: mode, values: [a, b], verdicts: [regressive]}"
    assert started("criteria", "--add", "Slower", "--predicate", predicate).code == 0
    for words in (("show", "MOE-000"), ("status",), ("tried",), ("criteria",), ("list",)):
        out = started(*words).out
        assert "regressive" in out or words == ("criteria",), words
        assert "fixed order" in out, words


def test_a_table_of_deltas_says_what_their_order_settles(started: Cli, folder: Path, clock: FixedClock) -> None:
    scripted(folder, **faster(4, by=0.97))
    for side in "ab":
        clock.tick()
        assert started("run", "--repeat", "4", "--", "sh", "bench.sh", "--mode", side).code == 0
    table = started("table", "MOE-000", "MOE-001", "--axis", "mode", "--delta")
    assert "not settled: all runs of one side were made before those of the other (1 of 1 comparison)" in table.out
    assert "to settle it: logbook ab" in table.out
    pivot = started("table", "MOE-000", "MOE-001", "--pivot", "mode", "--delta")
    assert "logbook ab --axis mode=A,B -- COMMAND" in pivot.out


@pytest.mark.slow
def test_the_command_that_settles_a_comparison_of_values_with_commas_runs(
    started: Cli, folder: Path, clock: FixedClock
) -> None:
    script = 'tiles=; [ "$1" = --tiles ] && tiles=" tiles=$2"; echo "RESULT$tiles tflops=1.$LOGBOOK_RUN"'
    (folder / "bench.sh").write_text(script)
    for flag in ((), ("--tiles", "16,4"), ("--tiles", "8,4")):
        clock.tick()
        assert started("run", "--", "sh", "bench.sh", *flag).code == 0
    found = started("compare", "MOE-000", "MOE-001", "MOE-002", "--axis", "tiles").out
    settle = """logbook ab --axis 'tiles=null,"16,4","8,4"' -- COMMAND"""
    assert f"to settle it: {settle};" in found
    words = [word for word in shlex.split(settle)[1:] if word != "COMMAND"]
    clock.tick()
    made = started(*words[:-1], "--repeat", "1", "--seed", "1", "--", "sh", "bench.sh", "--tiles", "{axis}")
    assert made.code == 0, made.err
    assert "tflops: — 1." in made.out
    assert " → 16,4 1." in made.out
    commands = {run.command[2:] for run in Book(folder / "logbooks", "moe").runs("MOE-003")}
    assert commands == {(), ("--tiles", "16,4"), ("--tiles", "8,4")}


def test_a_design_that_cannot_be_is_named(started: Cli, folder: Path) -> None:
    scripted(folder, **faster(2))
    assert started("ab", "--axis", "mode=a,b", "--repeat", "2", *COMMAND).code == 0
    path = folder / "logbooks/moe/entries/MOE-000.yaml"
    path.write_text(path.read_text().replace("  rounds: 2\n", "  rounds: 2\n  looks: -3\n"))
    for words in (("show", "MOE-000"), ("compare", "MOE-000", "--axis", "mode")):
        answer = started(*words)
        assert answer.code != 0
        assert "looks is -3, expected 1 or more" in answer.err
    assert "looks is -3, expected 1 or more" in started("doctor").out


def test_no_seed_puts_the_same_side_first_in_every_pair() -> None:
    for moment in range(300):
        design = Design(seed=0, rounds=6)
        seed = any_seed(str(moment), design, 2)
        assert len({tuple(order_of_round(seed, one, 2)) for one in range(1, 7)}) == 2
