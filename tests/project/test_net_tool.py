"""The net's comparison finds a planted difference, and only that: pure, without any story."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.net.compare import UNKNOWN, Difference, Explanation, differences, report
from tools.net.forms import forms
from tools.net.story import story

STATUS = "ask logbook status -L moe"
SHOW = "ask logbook show E07 -L moe --json"
ONCE: dict[str, Any] = {
    STATUS: {"code": 0, "out": ["best: 2.500 TF/s", "took 12 ms", "open"], "err": []},
    SHOW: {"code": 0, "out": {"data": {"rows": [{"tflops": 2.5, "n": 3}], "took": 0.12}}, "err": []},
}


def changed(line: str, **values: Any) -> dict[str, Any]:
    return ONCE | {line: ONCE[line] | values}


def listed(now: dict[str, Any], twice: dict[str, Any] = ONCE) -> list[tuple[str, str, str]]:
    return [(found.kind, found.was, found.now) for found in differences("story-00", ONCE, twice, now)]


def test_a_version_does_not_differ_from_itself() -> None:
    assert listed(ONCE) == []


@pytest.mark.parametrize(
    ("now", "kind", "was", "new"),
    [
        (changed(STATUS, code=1), "status/code", "0", "1"),
        (
            changed(STATUS, out=["best: 2.501 TF/s", "took 12 ms", "open"]),
            "status/out/N", "best: 2.500 TF/s", "best: 2.501 TF/s",
        ),
        (changed(STATUS, out=["best: 2.500 TF/s", "took 12 ms", "a warning", "open"]), "status/out/N", "", "a warning"),
        (changed(STATUS, out=["best: 2.500 TF/s", "open"]), "status/out/N", "took 12 ms", ""),
        (
            changed(SHOW, out={"data": {"rows": [{"tflops": 2.5, "n": 2}], "took": 0.12}}),
            "show --json/out/data/rows/N/n", "3", "2",
        ),
        (
            changed(SHOW, out={"data": {"rows": [{"tflops": 2.5, "n": 3}]}}),
            "show --json/out/data/took", "0.12", "(absent)",
        ),
        ({STATUS: ONCE[STATUS]}, "show --json", str(ONCE[SHOW]).replace("'", '"'), "(absent)"),
    ],
)  # fmt: skip
def test_a_planted_difference_is_listed_by_command_and_place(
    now: dict[str, Any], kind: str, was: str, new: str
) -> None:
    assert listed(now) == [(kind, was, new)]


def test_only_the_words_that_differ_between_two_plays_are_noise() -> None:
    twice = changed(STATUS, out=["best: 2.500 TF/s", "took 13 ms", "open"])
    assert listed(changed(STATUS, out=["best: 2.500 TF/s", "took 99 ms", "open"]), twice) == []
    [found] = listed(changed(STATUS, out=["best: 2.500 TF/s", "took 99 s", "open"]), twice)
    assert found == ("status/out/N", "took 12 ms", "took 99 s")


def test_a_number_that_differs_between_two_plays_is_noise() -> None:
    rows = [{"tflops": 2.5, "n": 3}]
    twice = changed(SHOW, out={"data": {"rows": rows, "took": 0.13}})
    assert listed(changed(SHOW, out={"data": {"rows": rows, "took": 0.9}}), twice) == []


def test_a_command_that_a_version_does_not_have_is_not_compared() -> None:
    assert listed(ONCE | {SHOW: UNKNOWN}) == []


def test_what_is_explained_is_counted_and_the_rest_is_listed() -> None:
    was, now = "best: 2.500 TF/s", "best: 2.501 TF/s"
    found = [Difference(store="s", line=STATUS, path="/out/0", was=was, now=now)]
    wanted = Explanation(why="another median", place="status/out/N", change=r"best: 2\.500 TF/s -> best: 2\.501 TF/s")
    lines, wrong = report(found, [wanted])
    assert (lines[0].split(), wrong) == (["1", "another", "median"], 0)
    part = Explanation(why="another median", place="status/out/N", change=r"best: 2\.500 TF/s")
    assert report(found, [part])[1] == 1


def test_the_explanations_can_be_read() -> None:
    path = Path(__file__).resolve().parents[2] / "tools/net/explained.yaml"
    assert all(Explanation(**item).why for item in yaml.safe_load(path.read_text()))


def test_a_seed_makes_the_same_story_again_and_another_makes_another() -> None:
    assert story(3) == story(3) != story(4)


def test_a_former_form_follows_the_newest() -> None:
    newest = "logbook ab --pairs 3 --new -- echo"
    assert forms(newest) == [newest, "logbook ab --pairs 3 -- echo", "logbook ab --repeat 3 -- echo"]
