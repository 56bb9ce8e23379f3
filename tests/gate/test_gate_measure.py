"""What base and head measure: regressions that are settled, noise that is none, and what cannot be measured."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Answer, Cli
from tests.gate.gate_support import BENCH, BENCH_WORDS, Git, commit, with_speeds

pytestmark = pytest.mark.slow

TOKEN = "ghs_" + "A1b2C3d4" * 5


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "record"


def ci(cli: Cli, record: Path, *args: str, base: str = "main") -> Answer:
    return cli("ci", "--base", base, "--root", str(record), *args)


def row(answer: Answer, at: int = 0) -> dict[str, object]:
    found: dict[str, object] = answer.data["cases"][at]
    return found


def test_ten_percent_are_found(cli: Cli, git: Git, folder: Path, record: Path) -> None:
    with_speeds(git, folder, "100", "110")
    answer = ci(cli, record, "--json", "--no-confirm", "--max-pairs", "6", *BENCH_WORDS)
    assert answer.code == 1, answer.err
    assert (row(answer)["verdict"], row(answer)["second"]) == ("regressed", None)
    assert "🔴 regressed | 6 |" in answer.data["comment"]["text"]


@pytest.mark.wide
def test_ten_percent_are_a_regression(cli: Cli, git: Git, folder: Path, record: Path) -> None:
    with_speeds(git, folder, "100", "110")
    answer = ci(cli, record, "--json", "--max-pairs", "8", *BENCH_WORDS)
    assert answer.code == 1, answer.err
    found = row(answer)
    assert (found["verdict"], found["pairs"], found["direction"]) == ("regressed", 8, "min")
    assert isinstance(found["ratio"], float)
    assert 1.09 < found["ratio"] < 1.11
    assert "8 pairs, p = 0.0078 by signed ranks" in str(found["second"])
    assert answer.data["entries"] == ["CI-000", "CI-001"]
    text = answer.data["comment"]["text"]
    assert text.startswith("### Benchmark of command: performance regressed\n\n**1 regressed**; base `")
    assert "| step_ms (ms) ↓ | 1" in text
    assert "🔴 regressed | 8 |" in text
    assert (record / "comment.md").read_text() == text
    assert git("rev-parse", "HEAD") in text
    assert "--max-pairs 8 -- python3 bench.py" in text
    # What was made for it is gone, and the checkout is as it was.
    assert git("worktree", "list").count("\n") == 0
    assert git("status", "--short") == ""


@pytest.mark.wide
@pytest.mark.parametrize("seed", ["a", "b", "c", "d"])
def test_noise_is_no_regression(cli: Cli, git: Git, folder: Path, record: Path, seed: str) -> None:
    with_speeds(git, folder, "100", "100.0", seed=seed)
    answer = ci(cli, record, "--json", "--max-pairs", "12", *BENCH_WORDS)
    assert answer.code == 0, answer.err
    assert row(answer)["verdict"] in ("unchanged", "unsettled", "unconfirmed")


@pytest.mark.wide
def test_a_gain_in_one_case_and_a_loss_in_another(cli: Cli, git: Git, folder: Path, record: Path) -> None:
    bench = BENCH.replace("step_ms={float(open('speed.txt').read())", "size={S} step_ms={V[S]").replace(
        "import pathlib", "import json, sys; S = sys.argv[1]; V = json.load(open('speed.txt'))\nimport pathlib"
    )
    (folder / "bench.py").write_text(bench)
    (folder / "recipes").mkdir()
    recipe = (
        "name: sizes\nquestion: What do sizes take?\ncommand: [python3, bench.py, '{size}']\naxes: {size: [1, 2]}\n"
    )
    (folder / "recipes/sizes.yaml").write_text(f"{recipe}metrics: [{{name: step_ms, direction: min, unit: ms}}]\n")
    commit(git, folder, "speed.txt", '{"1": 100, "2": 100}')
    git("checkout", "-q", "-b", "pr")
    commit(git, folder, "speed.txt", '{"1": 80, "2": 120}')
    answer = ci(cli, record, "--json", "--max-pairs", "10", "sizes")
    assert answer.code == 1, answer.err
    assert [(row(answer, at)["case"], row(answer, at)["verdict"]) for at in (0, 1)] == [
        ("size=1", "improved"),
        ("size=2", "regressed"),
    ]
    # Only what got worse is measured a second time.
    again = json.loads(cli("show", "CI-001", "--root", str(record), "--json").out)["data"]
    assert {row["config"]["size"] for run in again["runs"] for row in run["rows"]} == {2}
    text = answer.data["comment"]["text"]
    assert text.index("| size=2 | step") < text.index("| size=1 | step")


def test_rows_of_one_run_are_confirmed_each_by_its_own(cli: Cli, git: Git, folder: Path, record: Path) -> None:
    """And what the head prints no more is named."""
    print_all = BENCH.replace(
        'print(f"RESULT step', 'for k, v in json.load(open("speed.txt")).items(): print(f"RESULT kernel={k} step'
    ).replace("float(open('speed.txt').read())", "v")
    (folder / "bench.py").write_text(print_all.replace("import pathlib", "import json, pathlib"))
    commit(git, folder, "speed.txt", '{"a": 100, "b": 200, "c": 300}')
    git("checkout", "-q", "-b", "pr")
    commit(git, folder, "speed.txt", '{"a": 110, "b": 200}')
    answer = ci(cli, record, "--json", "--max-pairs", "8", *BENCH_WORDS)
    assert [(r["case"], r["verdict"]) for r in answer.data["cases"]] == [
        ("kernel=a", "regressed"),
        ("kernel=b", "unchanged"),
    ]
    assert answer.code == 1
    why = "no case on the other side agrees in kernel"
    assert answer.data["one_sided"] == [{"case": "kernel=c", "side": "base", "why": why}]
    assert f"- `kernel=c`: only base measured it: {why}\n" in answer.data["comment"]["text"]


@pytest.mark.parametrize(
    ("base", "head", "why"),
    [
        ("1 2", "2", "different numbers of such rows"),
        ("1 2", "2 1", "such rows in different orders of size"),
    ],
)
def test_rows_that_only_their_order_tells_apart(
    cli: Cli, git: Git, folder: Path, record: Path, base: str, head: str, why: str
) -> None:
    program = "for s in open('speed.txt').read().split(): print(f'RESULT size={s} step_ms={s}00.001')"
    (folder / "bench.py").write_text(program)
    commit(git, folder, "speed.txt", base)
    git("checkout", "-q", "-b", "pr")
    commit(git, folder, "speed.txt", head)
    answer = ci(cli, record, "--json", "--no-confirm", "--max-pairs", "6", *BENCH_WORDS)
    assert (answer.code, answer.data["outcome"]) == (0, "unsettled")
    assert all(why in str(r["why"]) for r in answer.data["cases"])


def test_a_new_benchmark_has_no_base(cli: Cli, git: Git, folder: Path, record: Path) -> None:
    git("checkout", "-q", "-b", "pr")
    commit(git, folder, "new.py", "print('RESULT step_ms=1.5')")
    answer = ci(cli, record, "--json", "--", "python3", "new.py")
    assert (answer.code, answer.data["outcome"]) == (0, "no-base")
    text = answer.data["comment"]["text"]
    assert text.startswith("### Benchmark of command: no base to compare with\n")
    assert "- the base fails: exit code 2: " in text


def test_a_head_that_fails(cli: Cli, git: Git, folder: Path, record: Path) -> None:
    git("checkout", "-q", "-b", "pr")
    commit(git, folder, "bench.py", "raise ValueError('<!-- logbook --> @ada **bold** \\u202e ```')")
    answer = ci(cli, record, "--json", "--", "python3", "bench.py")
    assert (answer.code, answer.data["outcome"]) == (5, "head-failed")
    text = answer.data["comment"]["text"]
    assert "- the head fails and the base does not: exit code 1: ValueError" in text
    assert "<!--" not in text.split("````")[0]
    assert "@ada" not in text.split("````")[0]
    assert "\\u202e" in text
    assert "\u202e" not in text
    assert git("worktree", "list").count("\n") == 0


def test_both_fail(cli: Cli, git: Git, folder: Path, record: Path) -> None:
    git("checkout", "-q", "-b", "pr")
    commit(git, folder, "other.py", "")
    answer = ci(cli, record, "--json", "--", "sh", "-c", "exit 3")
    assert (answer.code, answer.data["outcome"]) == (6, "not-measured")
    assert "both sides fail: exit code 3" in answer.data["comment"]["text"]


def test_a_command_without_a_result(cli: Cli, git: Git, folder: Path, record: Path) -> None:
    git("checkout", "-q", "-b", "pr")
    commit(git, folder, "other.py", "")
    answer = ci(cli, record, "--json", "--", "true")
    assert answer.code == 6
    assert "both sides fail: printed no RESULT or METRIC line" in answer.data["comment"]["text"]


def test_setup_is_run_on_each_side_and_its_environment_comes_first(
    cli: Cli, git: Git, folder: Path, record: Path
) -> None:
    git("checkout", "-q", "-b", "pr")
    commit(git, folder, "speed.txt", "1")
    setup = "mkdir -p .venv/bin; printf '#!/bin/sh\\necho METRIC speed=1' > .venv/bin/bench; chmod +x .venv/bin/bench"
    answer = ci(cli, record, "--json", "--max-pairs", "1", "--setup", setup, "--", "bench")
    assert answer.code == 0, answer.err
    assert "setup on base" in answer.err
    assert "setup on head" in answer.err
    assert row(answer)["pairs"] == 1
    assert "differs in" not in answer.data["comment"]["text"]


def test_setup_that_fails_on_the_head(cli: Cli, git: Git, folder: Path, record: Path) -> None:
    git("checkout", "-q", "-b", "pr")
    commit(git, folder, "new.txt", "1")
    answer = ci(cli, record, "--json", "--setup", "test ! -e new.txt", "--", "python3", "bench.py")
    assert answer.code == 5
    assert "the head fails and the base does not: setup failed: exit code 1" in answer.data["comment"]["text"]


def test_time_is_up_before_anything_is_settled(cli: Cli, git: Git, folder: Path, record: Path) -> None:
    with_speeds(git, folder, "100", "110")
    answer = ci(cli, record, "--json", "--max-time", "0.01s", *BENCH_WORDS)
    assert (answer.code, answer.data["outcome"]) == (0, "unsettled")
    assert answer.data["stopped"]["by"] == "time"


def test_the_code_of_a_pull_request_gets_no_token(
    cli: Cli, git: Git, folder: Path, record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does a token stand in record, comment, summary or answer, whoever prints it."""
    names = ("GITHUB_TOKEN", "GH_TOKEN", "ACTIONS_RUNTIME_TOKEN", "GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_STEP_SUMMARY")
    for name in names[:3]:
        monkeypatch.setenv(name, TOKEN)
    for name in names[3:]:
        monkeypatch.setenv(name, str(record.parent / name))
    git("checkout", "-q", "-b", "pr")
    commit(
        git, folder, "bench.py", f"import os\nassert not {{*os.environ}} & {{*{names}}}\nraise SystemExit('{TOKEN}')"
    )
    answer = ci(cli, record, "--json", "--", "python3", "bench.py")
    assert answer.code == 5
    assert TOKEN not in answer.out + answer.err
    holds = subprocess.run(["grep", "-rl", TOKEN, str(record)], capture_output=True, text=True, check=False).stdout
    assert holds == ""
    assert "AssertionError" not in answer.data["comment"]["text"]


def test_words_that_name_no_recipe(cli: Cli, git: Git, record: Path) -> None:
    answer = ci(cli, record, "nothing")
    assert answer.code == 2
    assert "no recipe 'nothing'" in answer.err
    assert ci(cli, record, "--set", "a=1", "--", "true").code == 2
    assert ci(cli, record).err == (
        "error: nothing to measure\n"
        "  cause: the command line names neither a recipe nor a command\n"
        "  next:  logbook ci RECIPE, or logbook ci -- python bench.py; logbook sweep lists the recipes\n"
    )
    assert not record.exists()
