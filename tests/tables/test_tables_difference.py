"""`logbook table --difference A B`: how far what was realised lies from what was asked for."""

from __future__ import annotations

import pytest

from tests.conftest import Cli

ROWS = [(0.1, 0.099), (0.2, 0.203), (0.5, 0.5)]


@pytest.fixture
def measured(started: Cli) -> Cli:
    lines = [f"RESULT null_target={asked} impl=fast null_realized={got} tflops=100" for asked, got in ROWS]
    assert started("run", "--", "printf", "%s\\n", *lines, "RESULT null_target=0.9 impl=fast tflops=90").code == 0
    return started


def test_the_largest_and_the_mean_are_told(measured: Cli) -> None:
    said = "|null_realized - null_target|: at most 0.003, 0.00133 on average, over 3 rows (1 without both)"
    answer = measured("table", "--difference", "null_realized", "null_target", "--metric", "null_realized")
    assert answer.code == 0, answer.err
    assert f"- {said}\n" in answer.out
    data = measured("table", "--difference", "null_target", "null_realized", "--json").data
    assert data["notes"][0] == said.replace("null_realized - null_target", "null_target - null_realized")
    one = measured("table", "--difference", "null_target", "null_realized", "--where", "null_target=0.5")
    assert "|null_target - null_realized|: at most 0, 0 on average, over 1 row\n" in one.out


@pytest.mark.parametrize(
    ("names", "message", "hint"),
    [
        (
            ("null_realised", "null_target"),
            "no number named 'null_realised'",
            "did you mean --difference null_realized?",
        ),
        (("impl", "null_target"), "impl is no number in these rows", "numbers are: "),
    ],
)
def test_what_has_no_difference_is_refused(measured: Cli, names: tuple[str, str], message: str, hint: str) -> None:
    answer = measured("table", "--difference", *names)
    assert answer.code == 2
    assert message in answer.err
    assert hint in answer.err


def test_rows_that_have_one_of_both_alone_have_none(measured: Cli) -> None:
    answer = measured("table", "--difference", "null_realized", "null_target", "--where", "null_target=0.9")
    assert answer.code == 2
    assert "no number named 'null_realized' in these rows" in answer.err
