"""A gate on the metric that decides, added after its pairs were seen, can choose the answer."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.conftest import Answer, Cli, FixedClock
from tests.seams import Store

pytestmark = pytest.mark.slow

AXIS = ("ab", "--axis", "env:Q=1,2", "--max-pairs", "2", "--metric", "time_s")
COMMAND = ("--", "sh", "b.sh")
GATE = ("--gate", "time_s <= 0.3")


@pytest.fixture
def paired(cli: Cli, folder: Path, clock: FixedClock) -> Cli:
    """T-000 has two pairs, which time_s decides."""
    (folder / "b.sh").write_text("echo RESULT time_s=0.$((LOGBOOK_RUN % 3 + 2)) err=0.1 checksum=a\n")
    assert cli("start", "t", "--prefix", "T", "--metric", "time_s:min:s", "--metric", "err:min").code == 0
    assert cli(*AXIS, *COMMAND).code == 0
    clock.tick(60)
    return cli


def typed(cli: Cli, answer: Answer) -> Answer:
    """The command of a hint, as it is printed."""
    return cli(*shlex.split(answer.error["hint"][answer.error["hint"].index("logbook ") :])[1:], "--json")


@pytest.mark.parametrize("words", [("ab", "--id", "T-000", *GATE), (*AXIS, *GATE, *COMMAND), ("edit", "T-000", *GATE)])
def test_a_gate_on_what_decides_is_refused_after_pairs(paired: Cli, folder: Path, words: tuple[str, ...]) -> None:
    at = words.index("--") if "--" in words else len(words)
    refused = paired(*words[:at], "--json", *words[at:])
    assert (refused.code, "time_s <= 0.3" in refused.error["message"]) == (2, True)
    assert "gates" not in Store(folder, "t").entry("T-000")
    afresh = typed(paired, refused)
    assert afresh.data["id"] == "T-001", afresh.err
    assert Store(folder, "t").entry("T-001")["gates"] == ["time_s <= 0.3"]


@pytest.mark.parametrize("gate", ["same checksum", "err <= 0.2"])
def test_other_gates_may_come_later(paired: Cli, gate: str) -> None:
    assert paired("ab", "--id", "T-000", "--max-pairs", "2", "--gate", gate).code == 0
    assert paired("edit", "T-000", "--drop", gate).code == 0
    assert paired("edit", "T-000", "--gate", gate).code == 0


def test_a_gate_that_was_there_may_be_typed_again(paired: Cli) -> None:
    assert paired(*AXIS, "--new", *GATE, *COMMAND).code in (0, 1)
    more = paired("ab", "--id", "T-001", "--max-pairs", "2", *GATE, "--json")
    assert more.code in (0, 1), more.err
    assert paired("ab", "--plan", "--new", *AXIS[1:3], *COMMAND).code == 0
    assert paired("edit", "T-002", *GATE).code == 0, "a plan has no pairs"


def test_a_later_gate_of_the_logbook_stands_beside_the_answer(paired: Cli) -> None:
    said = "the gate 'time_s <= 0.5' came after the first pairs"
    assert paired("edit", "--gate", "time_s <= 0.5", "--reason", "the limit of the product").code == 0
    for reader in ("compare", "show"):
        assert paired(reader, "T-000").out.count(said) == 1
    assert paired(*AXIS, "--new", *COMMAND).code == 0
    assert said not in paired("compare", "T-001").out
    paired("edit", "--drop", "time_s <= 0.5", "--reason", "it was wrong")
    assert said not in paired("compare", "T-000").out
