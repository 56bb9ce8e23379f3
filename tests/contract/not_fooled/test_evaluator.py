"""`ab --code`: the base's own benchmark measures both sides."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Answer, Cli
from tests.seams import Store

pytestmark = pytest.mark.slow

Git = Callable[..., str]

BENCH = "echo METRIC step_ms=$(cat speed.txt).$((LOGBOOK_RUN * 7 % 10))\n"
CHEAT = "echo METRIC step_ms=1.$((LOGBOOK_RUN * 7 % 10))\n"
COMMAND = ("--", "sh", "tools/bench.sh")


@pytest.fixture
def ready(cli: Cli, git: Git, folder: Path) -> Cli:
    """`main`: 100 ms; the branch `other`, which is checked out: 90 ms, and a benchmark that says 1 ms."""
    (folder / "tools").mkdir()
    (folder / "tools/bench.sh").write_text(BENCH)
    (folder / "speed.txt").write_text("100")
    assert cli("start", "speed", "--prefix", "SPEED", "--metric", "step_ms:min:ms").code == 0
    git("add", ".")
    git("commit", "-q", "-m", "The benchmark")
    git("checkout", "-q", "-b", "other")
    (folder / "speed.txt").write_text("90")
    (folder / "tools/bench.sh").write_text(CHEAT)
    git("commit", "-q", "-a", "-m", "Ten percent")
    return cli


def change(answer: Answer) -> float:
    assert answer.code == 0, answer.err
    [finding] = answer.data["answer"]["findings"]
    found: float = finding["change"]
    return found


@pytest.mark.parametrize("other", ["HEAD", "WORK"])
def test_the_named_files_of_the_base_measure_both_sides(ready: Cli, git: Git, folder: Path, other: str) -> None:
    if other == "WORK":
        git("reset", "-q", "--soft", "main")
    answer = ready("ab", "--code", "main", other, "--json", *COMMAND)
    assert -0.11 < change(answer) < -0.09
    assert "tools/bench.sh of main measures both sides" in answer.err
    assert answer.data["answer"]["evaluator"] == ["tools/bench.sh"]
    note = "Measured with tools/bench.sh of main on both sides."
    view = (folder / "logbooks/speed.md").read_text()
    assert [view.count(note), ready("compare", "SPEED-000").out.count(note)] == [1, 1]
    assert view.count(", with changes") == (other == "WORK")
    assert ("with uncommitted changes" in view) == (other == "WORK")
    [stated] = Store(folder, "speed").entry("SPEED-000").comparison.evaluator
    assert (stated.path, stated.sha256) == ("tools/bench.sh", hashlib.sha256(BENCH.encode()).hexdigest())
    assert (folder / "tools/bench.sh").read_text() == CHEAT
    more = ready("ab", "--id", "SPEED-000", "--max-pairs", "1", "--json")
    assert more.data["pairs"] == answer.data["pairs"] + 1, more.err
    assert -0.11 < change(more) < -0.09


def test_an_evaluator_that_is_named(ready: Cli, git: Git, folder: Path) -> None:
    """A folder, whose files on the other side are the base's, too; or none, where each side has its own."""
    (folder / "tools/extra.sh").write_text("true\n")
    git("add", ".")
    git("commit", "-q", "-m", "Another tool")
    command = ("--", "sh", "-c", "ls tools >&2; sh tools/bench.sh")
    answer = ready("ab", "--code", "main", "HEAD", "--evaluator", "tools", "--max-pairs", "2", "--json", *command)
    assert -0.11 < change(answer) < -0.09
    assert all(
        "extra" not in Store(folder, "speed").log_path("SPEED-000", number).read_text() for number in range(1, 5)
    )
    own = ready("ab", "--code", "main", "HEAD", "--evaluator", "none", "--max-pairs", "2", "--json", *COMMAND)
    assert change(own) < -0.9
    again = own.data["stopped"]["why"].partition("to continue: ")[2].replace("--max-pairs 8", "--max-pairs 1")
    assert ready("ab", "--json", *again.split()[2:]).data["pairs"] == 3
    for words in (("--code", "main", "HEAD", "--evaluator", "tools/extra.sh"), ("--axis", "a=1,2", "--evaluator", "x")):
        refused = ready("ab", *words, *COMMAND)
        assert (refused.code, "--evaluator" in refused.err) == (2, True)


def test_codes_that_differ_in_the_evaluator_alone(ready: Cli, git: Git, folder: Path) -> None:
    (folder / "speed.txt").write_text("100")
    git("commit", "-q", "-a", "-m", "As before")
    refused = ready("ab", "--code", "main", "HEAD", *COMMAND)
    assert (refused.code, "tools/bench.sh" in refused.err, "--evaluator none" in refused.err) == (2, True, True)


def test_a_program_of_one_file_is_compared_as_printed(cli: Cli, git: Git, folder: Path) -> None:
    """What measures itself: `next` and `compare` say that each side is measured by its own, while there are two."""
    (folder / "bench.sh").write_text("echo METRIC step_ms=100\n")
    assert cli("start", "speed", "--prefix", "SPEED", "--metric", "step_ms:min:ms").code == 0
    git("add", ".")
    git("commit", "-q", "-m", "The benchmark")
    assert cli("run", "--title", "As it was", "--", "sh", "bench.sh").code == 0
    (folder / "bench.sh").write_text("echo METRIC step_ms=90\n")
    assert cli("run", "--title", "Faster", "--", "sh", "bench.sh").code == 0
    base = f"ab --code {git('rev-parse', '--short=9', 'HEAD').strip()} WORK --like"
    [step] = cli("next", "--json").data["steps"]
    compared = cli("compare", "SPEED-000", "SPEED-001", "--json").data["numbers"]
    assert step["command"] == f"logbook {base} SPEED-001/1 --evaluator none"
    assert compared["command"] == f"logbook {base} SPEED-000/1 --evaluator none"
    git("stash", "-q")
    assert cli("next", "--json").data["steps"][0]["command"] == "logbook ab --help"
    assert not cli("compare", "SPEED-000", "SPEED-001", "--json").data["numbers"]["command"]
    git("stash", "pop", "-q")
    (folder / "other.py").write_text("True\n")
    git("add", "other.py")
    assert cli("next", "--json").data["steps"][0]["command"] == f"logbook {base} SPEED-001/1"
    git("rm", "-q", "-f", "other.py")
    answer = cli(*step["command"].split()[1:], "--max-pairs", "1", "--json")
    assert -0.11 < change(answer) < -0.09
    by_commit = cli("compare", "SPEED-000", "SPEED-001", "--axis", "commit")
    assert "files that are no code" not in by_commit.out


def test_an_evaluator_that_is_the_same_needs_no_word(ready: Cli, git: Git, folder: Path) -> None:
    (folder / "tools/bench.sh").write_text(BENCH)
    answer = ready("ab", "--code", "main", "WORK", "--max-pairs", "2", "--json", *COMMAND)
    assert -0.11 < change(answer) < -0.09
    assert answer.data["answer"]["evaluator"] == []


def test_a_base_whose_own_benchmark_breaks_a_gate(ready: Cli, git: Git, folder: Path) -> None:
    """Both codes are fixed, so pairs would fail for good. The benchmark of the other side reports what the gate wants,
    which the printed command uses, once."""
    (folder / "tools/bench.sh").write_text(f"{BENCH}echo checksum=1a2b\n")
    git("commit", "-q", "-a", "-m", "A checksum")
    assert ready("edit", "--gate", "same checksum", "--reason", "wrong is no gain").code == 0
    predicate = "compared: {axis: code, values: [main, other], settled: true}"
    assert ready("criteria", "--add", "faster", "--predicate", predicate).code == 0
    made = ready("ab", "--code", "main", "other", "--json", "--max-pairs", "10", "--seed", "1", *COMMAND)
    why = made.data["stopped"]["why"]
    assert (made.code, made.data["stopped"]["by"], "fix that" in why) == (1, "failed", False)
    assert "is a commit, which fails again" in why
    ready("ab", "--id", "SPEED-001", "--max-pairs", "1")
    readers = [("next",), ("status",), ("criteria",)]
    assert not any("--id SPEED-001" in ready(*words).out for words in readers)
    [step] = [one for one in ready("next", "--json").data["steps"] if one["kind"] == "comparison"]
    assert "bench.sh of the other side" in step["why"]
    turned = ready(*step["command"].split()[1:], "--json")
    assert 0.09 < change(turned) < 0.13
    assert not any(step["command"] in ready(*words).out for words in readers)
