"""A sweep says before its first run when its design cannot settle a verdict, and which setting can."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from logbook_agent.findings.evidence.family import adjusted
from logbook_agent.findings.evidence.planning import fewest_mixed, fewest_pairs, pairs_for, pairs_with_looks
from logbook_agent.model.stats.ranks import smallest_p_paired, smallest_p_unpaired
from logbook_agent.model.stats.sequential import ALPHA, threshold
from tests.conftest import REPOSITORY, Cli
from tests.recipes.sweep_support import BENCH

RECIPE = """\
name: demo
question: Is b faster?
command: [bash, bench.sh, "{size}", "{mode}"]
axes:
  size: [1]
  mode: [a, b]
compare: {axis: mode, base: a}
metrics: [tflops]
confirm: 0
"""
DRIFT = "runs of one case before those of another cannot be told from a drift of the machine"
CHANCE = "with so few, chance alone could give any result"
TOGETHER = "comparisons are corrected together: the more there are, the clearer each result has to be"


@pytest.fixture
def ready(started: Cli, folder: Path) -> Cli:
    (folder / "recipes").mkdir()
    (folder / "bench.sh").write_text(BENCH)
    (folder / "recipes/demo.yaml").write_text(RECIPE)
    return started


def warned(cli: Cli, *sets: str, dry: bool = True) -> list[str]:
    options = [word for text in sets for word in ("--set", text)]
    answer = cli("sweep", "demo", *(["--dry-run"] if dry else []), "--json", *options)
    assert answer.code == 0, answer.err
    return [
        text.removeprefix("can-answer: ")
        for text in json.loads(answer.out)["warnings"]
        if text.startswith("can-answer: ")
    ]


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        (("repeats=4", "order=interleaved"), f"4 pairs cannot settle a verdict: 6 can (--set repeats=6); {CHANCE}"),
        (("repeats=6", "order=interleaved"), None),
        (
            ("repeats=4",),
            "4 pairs cannot settle a verdict: 6 can (--set repeats=6); "
            f"order as-listed cannot either: --set order=interleaved; {CHANCE}, and {DRIFT}",
        ),
        (("repeats=6",), f"order as-listed cannot settle a verdict: --set order=interleaved; {DRIFT}"),
        (
            ("repeats=3", "order=shuffled"),
            f"3 runs of each case cannot settle a verdict: 4 can (--set repeats=4); {CHANCE}",
        ),
        (("repeats=4", "order=shuffled"), None),
        (
            ("repeats=6", "order=interleaved", "size=1,2,3,4"),
            "6 pairs cannot settle one of 4 comparisons by itself: 8 can (--set repeats=8); " + TOGETHER,
        ),
        (("repeats=8", "order=interleaved", "size=1,2,3,4"), None),
        (
            ("repeats=2", "order=interleaved", "mode=a,b,c"),
            f"2 pairs cannot settle a verdict of 2 comparisons: 7 can (--set repeats=7); {CHANCE}",
        ),
    ],
)
def test_what_a_comparison_takes(ready: Cli, sets: tuple[str, ...], said: str | None) -> None:
    assert warned(ready, *sets) == ([said] if said is not None else [])


def test_what_a_winner_takes_and_an_exploration_does_not(ready: Cli, folder: Path) -> None:
    text = RECIPE.replace("compare: {axis: mode, base: a}\n", "").replace("confirm: 0", "confirm: 1")
    (folder / "recipes/demo.yaml").write_text(text)
    assert warned(ready) == []
    assert warned(ready, "repeats=6", "order=interleaved", "size=1,2,3,4") == []
    assert warned(ready, "repeats=3", "order=interleaved") == [
        f"3 pairs cannot settle a verdict: 6 can (--set repeats=6); {CHANCE}"
    ]
    assert warned(ready, "repeats=3", "confirm=0") == []


@pytest.mark.slow
def test_it_is_said_before_the_first_run_and_not_of_a_sweep_that_has_begun(ready: Cli, folder: Path) -> None:
    answer = ready("sweep", "demo", "--set", "repeats=4")
    assert answer.code == 0, answer.err
    lines = answer.err.splitlines()
    assert lines[0].startswith("warning: can-answer: 4 pairs cannot settle a verdict: 6 can (--set repeats=6); ")
    assert lines[1].startswith("[1/8] ")
    assert answer.err.count("can-answer") == 1
    assert "can-answer" not in ready("sweep", "--resume", "MOE-000").err
    assert len(warned(ready, "repeats=4", "order=interleaved", dry=False)) == 1


@pytest.mark.parametrize(
    ("sets", "reason"),
    [
        ((), "one run of a case is not enough (--set repeats=6 --set order=interleaved)"),
        (("repeats=6",), "a drift of the machine would look like an effect (--set order=interleaved)"),
        (("repeats=4", "order=interleaved"), "before an effect can be told from chance (--set repeats=6)"),
        (("repeats=6", "order=interleaved"), None),
    ],
)
@pytest.mark.slow
def test_a_sweep_without_a_winner_says_what_could_tell(
    ready: Cli, folder: Path, sets: tuple[str, ...], reason: str | None
) -> None:
    (folder / "bench.sh").write_text('echo "RESULT size=$1 mode=$2 tflops=10$([ $2 = b ] && echo 1)"\n')
    options = [word for text in sets for word in ("--set", text)]
    best = ready("sweep", "demo", "--set", "confirm=1", "--json", *options).data["best"]
    assert best["is_winner"] is (reason is None)
    told = best["reasons"][0]
    assert told.endswith(reason) if reason is not None else "--set" not in told


@pytest.mark.parametrize("comparisons", [1, 2, 5, 8, 81])
def test_the_fewest_that_can_are_the_fewest(comparisons: int) -> None:
    for fewest, smallest in (
        (fewest_pairs(comparisons), smallest_p_paired),
        (fewest_mixed(comparisons), lambda runs: smallest_p_unpaired(runs, runs)),
    ):
        for runs, can in ((fewest, True), (fewest - 1, False)):
            alone = adjusted([smallest(runs), *[1.0] * (comparisons - 1)])
            assert (alone[0] <= ALPHA) is can


@pytest.mark.parametrize("looked", [0, 1, 3])
def test_looks_on_the_way_cost_pairs(looked: int) -> None:
    for effect, scatter in ((0.01, 0.0), (0.01, 0.02), (0.01, 0.3), (0.1, 0.02)):
        fixed = pairs_for(effect, scatter, alpha=threshold(looked + 1))
        assert fixed <= pairs_with_looks(effect, scatter, looked=looked) < 4 * fixed
        # Behind a plan that is over much more is asked.
        again = pairs_with_looks(effect, scatter, looked=looked + 1, plans=1)
        assert again > pairs_with_looks(effect, scatter, looked=looked + 1)


def test_the_table_in_the_reference_is_the_code_s() -> None:
    text = (REPOSITORY / "docs/reference/recipes.md").read_text(encoding="utf-8")
    for comparisons in (2, 5, 8, 20, 80):
        assert f"| {comparisons} | {fewest_pairs(comparisons)} | {fewest_mixed(comparisons)} |" in text
