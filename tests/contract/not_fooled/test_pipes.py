"""A command in front of a pipe that fails."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.seams import Store

FAILS = '(echo "tflops 0.1"; exit 3) | sed "s/tflops /RESULT tflops=/"'
WORKS = 'echo "tflops 0.1" | sed "s/tflops /RESULT tflops=/"'


def problems(folder: Path, entry: str = "MOE-000") -> str:
    return "\n".join(str(problem) for run in Store(folder).runs(entry) for problem in run.problems or ())


def test_a_failure_in_front_of_a_pipe_fails_the_run(started: Cli, folder: Path) -> None:
    answer = started("run", "--shell", "--json", "--", FAILS)
    assert answer.code == 3
    [run] = answer.data["runs"]
    assert run["state"] == "failed"
    [recorded] = Store(folder).runs("MOE-000")
    assert recorded.argv == [FAILS]


def test_a_pipe_without_a_failure_is_an_ordinary_run(started: Cli, folder: Path) -> None:
    assert started("run", "--shell", "--", WORKS).code == 0
    assert not Store(folder).runs("MOE-000")[0].problems


def test_a_failing_side_settles_nothing(started: Cli, folder: Path) -> None:
    (folder / "b.sh").write_text('echo "tflops $1"; [ "$1" = 1 ]\n')
    words = "sh b.sh $Q | sed 's/tflops /RESULT tflops=/'"
    answer = started("ab", "--axis", "env:Q=1,9", "--shell", "--", words)
    assert answer.code == 1
    assert "better" not in answer.out
    assert "exit code 1" in answer.out
    assert "exit code 1" in started("status").out


def test_the_pairs_of_a_text_are_continued_as_it_is_printed(started: Cli, folder: Path) -> None:
    words = "echo tflops $Q | sed 's/tflops /RESULT tflops=/'"
    answer = started("ab", "--axis", "env:Q=1,2", "--max-pairs", "2", "--shell", "--", words)
    again = next(line for line in answer.out.splitlines() if "logbook ab --id" in line).partition("logbook ")[2]
    assert started(*shlex.split(again)).code == 0
    assert len(Store(folder).runs("MOE-000")) > 4


def test_a_recipe_for_the_shell(started: Cli, folder: Path) -> None:
    text = f"name: one\nquestion: q\nshell: true\ncommand: |-\n  {FAILS} && echo {{k}}\n"
    (folder / "one.yaml").write_text(text + "axes: {k: [1]}\nconfirm: 0\n")
    assert started("sweep", "one.yaml").code == 1
    assert Store(folder).runs("MOE-000")[0].exit["code"] == 3


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r"echo 'a\tb'", "a\tb"),
        ("echo -n a; echo b", "ab"),
        ("echo $0", "sh"),
        ("f() { echo in f; }; f", "in f"),
        ("printf '%s\\n' a b | { read x; read y; echo $y; }", "b"),
        ("false | true || echo seen", "seen"),
    ],
)
def test_a_script_reads_as_before(started: Cli, text: str, shown: str) -> None:
    answer = started("run", "--shell", "--", text)
    assert answer.code == 0
    assert shown in answer.out


def test_a_reader_that_stops_early_is_explained(started: Cli, folder: Path) -> None:
    assert started("run", "--shell", "--", "yes 'RESULT tflops=1' | head -1").code == 141
    assert "stopped reading" in problems(folder)
    assert started("run", "--shell", "--", "{ yes 'RESULT tflops=1' || [ $? = 141 ]; } | head -1").code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("sh", "-c", WORKS),
        ("bash", "-lc", WORKS),
        ("/bin/bash", "-c", WORKS),
        ("env", "A=1", "sh", "-ec", WORKS),
        ("timeout", "9", "bash", "-c", "echo RESULT tflops=1 |& cat"),
        ("sh", "-c", "(echo RESULT tflops=1)|cat"),
        ("sh", "-c", "# comment\necho RESULT tflops=1 | cat"),
    ],
)
def test_a_pipe_in_a_script_of_its_own_is_noted(started: Cli, folder: Path, words: tuple[str, ...]) -> None:
    assert started("run", "--", *words).code == 0
    assert "pipefail" in problems(folder)
    assert "pipefail" in started("show", "MOE-000").out


@pytest.mark.parametrize(
    "words",
    [
        ("sh", "-c", "echo RESULT tflops=1 || true"),
        ("sh", "-c", "echo 'a | b' \"c | d\" RESULT tflops=1"),
        ("sh", "-c", "echo a\\|b"),
        ("sh", "-c", "echo a >| out.txt"),
        ("sh", "-c", "echo a # b | c"),
        ("bash", "-c", "set -o pipefail; echo a | cat"),
        ("bash", "-eo", "pipefail", "-c", "echo a | cat"),
        ("bash", "-c", 'echo a | cat; exit "${PIPESTATUS[0]}"'),
        ("echo", "a | b"),
        ("python", "-c", "print(1 | 2)"),
    ],
)
def test_what_hides_nothing_is_not_noted(started: Cli, folder: Path, words: tuple[str, ...]) -> None:
    assert started("run", "--", *words).code == 0
    assert "pipe" not in problems(folder)


@pytest.mark.parametrize("words", [("echo", "a || true"), ("python", "-c", "print('METRIC tflops=1')", "ok?\n:")])
def test_words_that_are_no_script_succeed_or_fail_by_themselves(
    started: Cli, folder: Path, words: tuple[str, ...]
) -> None:
    assert started("run", "--", *words).code == 0
    assert "success" not in problems(folder)


@pytest.mark.parametrize("script", ["sh b.sh || true", "sh b.sh; true", "sh b.sh || :"])
@pytest.mark.parametrize("words", [("--shell", "--"), ("--", "bash", "-c")])
def test_a_script_that_always_succeeds_is_noted(
    started: Cli, folder: Path, words: tuple[str, ...], script: str
) -> None:
    (folder / "b.sh").write_text("echo RESULT tflops=1; exit 3\n")
    assert started("run", *words, script).code == 0
    assert "success whatever fails" in problems(folder)
