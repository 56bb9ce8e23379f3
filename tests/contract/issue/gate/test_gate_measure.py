"""What base and head measure: differences, none, what stays open, and what cannot be measured."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conftest import Answer, Cli
from tests.contract.issue.gate.gate_support import BENCH, BENCH_WORDS, Git, commit, with_speeds

pytestmark = pytest.mark.slow

TOKEN = "ghs_" + "A1b2C3d4" * 5


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "record"


def ci(cli: Cli, record: Path, *args: str, base: str = "main") -> Answer:
    return cli("ci", "--base", base, "--root", str(record), *args)


def found(answer: Answer) -> list[tuple[dict[str, str], str, str]]:
    """Case, metric and outcome of each finding."""
    return [(f["case"], f["metric"], f["outcome"]) for f in answer.data["answer"]["findings"]]


@pytest.mark.parametrize(
    ("head", "code", "outcome"),
    [pytest.param("90", 0, "better", marks=pytest.mark.wide), ("100.0", 0, "no-difference")],
)
def test_a_difference_and_none(
    cli: Cli, git: Git, folder: Path, record: Path, head: str, code: int, outcome: str
) -> None:
    with_speeds(git, folder, "100", head)
    answer = ci(cli, record, "--json", *BENCH_WORDS)
    assert (answer.code, answer.data["outcome"]) == (code, outcome), answer.err
    assert found(answer) == [({}, "step_ms", outcome.replace("-", " "))]


def test_ten_percent_more_are_worse(cli: Cli, git: Git, folder: Path, record: Path) -> None:
    with_speeds(git, folder, "100", "110")
    answer = ci(cli, record, "--json", *BENCH_WORDS)
    assert answer.code == 1, answer.err
    [one] = answer.data["answer"]["findings"]
    assert (one["outcome"], one["direction"], one["level"]) == ("worse", "min", 0.95)
    assert 0.09 < one["change"] < 0.11
    assert answer.data["answer"]["id"] == answer.data["entry"] == "CI-000"
    text = answer.data["comment"]["text"]
    assert text.startswith("### Benchmark of command: worse\n")
    assert "| step_ms (ms) ↓ | 1" in text
    assert f"🔴 worse | {one['pairs']} |" in text
    assert f"- {one['sentence']}\n" in text
    assert "2.5%" in text
    assert "\n- again:\n  ```bash\n  logbook ci" in text, "a fence begins its line"
    assert (record / "comment.md").read_text() == text
    assert git("rev-parse", "HEAD") in text
    assert "--max-pairs 20 -- python3 bench.py" in text
    # What was made for it is gone, and the checkout is as it was.
    assert git("worktree", "list").count("\n") == 0
    assert git("status", "--short") == ""


def rows_program(git: Git, folder: Path, base: str, head: str) -> None:
    """A program that prints a row for each kernel in `speed.txt`."""
    print_all = BENCH.replace(
        'print(f"RESULT step', 'for k, v in json.load(open("speed.txt")).items(): print(f"RESULT kernel={k} step'
    ).replace("float(open('speed.txt').read())", "v")
    (folder / "bench.py").write_text(print_all.replace("import pathlib", "import json, pathlib"))
    commit(git, folder, "speed.txt", base)
    git("checkout", "-q", "-b", "pr")
    commit(git, folder, "speed.txt", head)


def test_a_case_that_the_head_no_longer_prints_is_named(cli: Cli, git: Git, folder: Path, record: Path) -> None:
    """And what is left of the comparison does not say "no difference". Rows are matched by the words that name them, in
    whatever order they come."""
    rows_program(git, folder, '{"a": 100, "b": 200, "c": 300}', '{"b": 200, "a": 100.0}')
    answer = ci(cli, record, "--json", *BENCH_WORDS)
    assert {outcome for *_, outcome in found(answer)} == {"no difference"}
    assert (answer.code, answer.data["outcome"]) == (0, "open")
    [left_out] = answer.data["answer"]["left_out"]
    assert left_out.endswith("kernel=c")
    assert f"\n- {left_out}\n" in answer.data["comment"]["text"]


@pytest.mark.parametrize(("base", "head", "why"), [("1 2", "2", "2 rows"), ("1 2", "2 1", "another order")])
def test_rows_that_only_their_order_tells_apart(
    cli: Cli, git: Git, folder: Path, record: Path, base: str, head: str, why: str
) -> None:
    program = "for s in open('speed.txt').read().split(): print(f'RESULT size={s} step_ms={s}00.001')"
    (folder / "bench.py").write_text(program)
    commit(git, folder, "speed.txt", base)
    git("checkout", "-q", "-b", "pr")
    commit(git, folder, "speed.txt", head)
    answer = ci(cli, record, "--json", *BENCH_WORDS)
    assert (answer.code, answer.data["outcome"]) == (6, "not-measured")
    assert answer.data["stopped"]["by"] == "not-comparable"
    assert why in answer.data["comment"]["text"]


def test_each_measurement_has_its_own_answer_and_names_those_before(
    cli: Cli, git: Git, folder: Path, record: Path
) -> None:
    with_speeds(git, folder, "100", "110")
    for entry, earlier in (("CI-000", []), ("CI-001", ["CI-000"])):
        answer = ci(cli, record, "--json", "--max-pairs", "2", *BENCH_WORDS)
        found = answer.data["answer"]
        assert (found["id"], found["pairs"], found["earlier"]) == (entry, 2, earlier)


def test_a_new_benchmark_has_no_base(cli: Cli, git: Git, folder: Path, record: Path) -> None:
    git("checkout", "-q", "-b", "pr")
    commit(git, folder, "new.py", "print('RESULT step_ms=1.5')")
    answer = ci(cli, record, "--json", "--", "python3", "new.py")
    assert (answer.code, answer.data["outcome"]) == (0, "no-base")
    text = answer.data["comment"]["text"]
    assert text.startswith("### Benchmark of command: no base to compare with\n")
    assert "exit code 2" in text


def test_a_head_that_fails(cli: Cli, git: Git, folder: Path, record: Path) -> None:
    git("checkout", "-q", "-b", "pr")
    commit(git, folder, "bench.py", "raise ValueError('<!-- logbook --> @ada **bold** \\u202e ```')")
    answer = ci(cli, record, "--json", "--", "python3", "bench.py")
    assert (answer.code, answer.data["outcome"]) == (5, "head-failed")
    text = answer.data["comment"]["text"]
    assert "exit code 1: ValueError" in text
    assert "<!--" not in text.split("````")[0]
    assert "@ada" not in text.split("````")[0]
    assert "\\u202e" in text
    assert "\u202e" not in text
    assert git("worktree", "list").count("\n") == 0


def test_a_head_that_fails_within_the_pairs_of_a_recipe_with_teardown(
    cli: Cli, git: Git, folder: Path, record: Path
) -> None:
    """The run that failed is named, not the teardown that follows it."""
    (folder / "recipes").mkdir()
    recipe = "name: one\nquestion: Is it fast?\ncommand: [python3, bench.py, flags: [n]]\naxes: {n: [1]}\n"
    (folder / "recipes" / "one.yaml").write_text(f"{recipe}metrics: [loss]\nteardown: [[echo, released]]\n")
    commit(git, folder, "bench.py", "print('METRIC loss=1.0')")
    git("branch", "-f", "before")
    seen = record.parent / "seen"
    fails = f"import pathlib\nif (p := pathlib.Path({str(seen)!r})).exists(): raise SystemExit('broken')\np.touch()\n"
    commit(git, folder, "bench.py", f"{fails}print('METRIC loss=1.0')")
    answer = ci(cli, record, "--json", "one", base="before")
    assert (answer.code, answer.data["outcome"]) == (5, "head-failed"), answer.err
    assert "exit code 1: broken" in answer.data["comment"]["text"]


def test_a_command_without_a_result(cli: Cli, git: Git, folder: Path, record: Path) -> None:
    git("checkout", "-q", "-b", "pr")
    commit(git, folder, "other.py", "")
    answer = ci(cli, record, "--json", "--", "true")
    assert (answer.code, answer.data["outcome"]) == (6, "not-measured")


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
    [one] = answer.data["answer"]["findings"]
    assert one["pairs"] == 1
    assert "also differs" not in answer.data["comment"]["text"]
    answer = ci(cli, record, "--json", "--setup", "test ! -e speed.txt", "--", "python3", "bench.py")
    assert (answer.code, answer.data["outcome"]) == (5, "head-failed")


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
    assert "'nothing'" in answer.err
    assert ci(cli, record, "--set", "a=1", "--", "true").code == 2
    assert "logbook ci RECIPE" in ci(cli, record).err
    assert not record.exists()


def test_files_of_the_base_measure_both(cli: Cli, git: Git, folder: Path, record: Path) -> None:
    """A head that flatters itself in its own benchmark."""
    with_speeds(git, folder, "100", "110")
    commit(git, folder, "bench.py", BENCH.replace("step_ms={", "step_ms={0.5 * ").replace("SEED", "1"))
    answer = ci(cli, record, "--json", "--evaluator", "bench.py", *BENCH_WORDS)
    assert (answer.code, answer.data["outcome"]) == (1, "worse"), answer.err
    assert answer.data["answer"]["evaluator"] == ["bench.py"]


def test_its_entry_is_an_ordinary_comparison(cli: Cli, git: Git, folder: Path, record: Path) -> None:
    """Whoever has the record and the repository adds pairs."""
    with_speeds(git, folder, "100", "110")
    assert ci(cli, record, "--max-pairs", "2", *BENCH_WORDS).code == 0
    answer = cli("ab", "--root", str(record), "--id", "CI-000", "--max-pairs", "2", "--json")
    assert (answer.code, answer.data["answer"]["pairs"]) == (0, 4), answer.err


def test_a_comment_says_why_nothing_can_be_compared(cli: Cli, git: Git, folder: Path, record: Path) -> None:
    with_speeds(git, folder, "100", "110")
    answer = ci(cli, record, "--json", "--max-pairs", "1", "--", "python3", "bench.py")
    assert (answer.code, answer.data["outcome"]) == (6, "not-measured"), answer.err
    why = "nothing can be compared: no metric is named; the runs report step_ms"
    assert f"\n- {why}" in answer.data["comment"]["text"].replace("\\_", "_")


def test_each_side_has_its_own_numbers_where_only_data_differ(cli: Cli, git: Git, folder: Path, record: Path) -> None:
    """`speed.txt` is no code, so both sides are the same code, and only their pairs tell their rows apart."""
    with_speeds(git, folder, "100", "110")
    answer = ci(cli, record, "--json", "--max-pairs", "2", *BENCH_WORDS)
    [finding] = answer.data["answer"]["findings"]
    base, other = (finding[side] for side in ("base", "other"))
    assert (base["runs"], other["runs"]) == (2, 2), answer.err
    assert base["high"] < 101 < 109 < other["low"]


def test_no_text_offers_more_pairs_of_several_cases(cli: Cli, git: Git, folder: Path, record: Path) -> None:
    """The cases of a recipe have a command each, so `ab --id` has none to run."""
    (folder / "recipes").mkdir()
    recipe = "name: two\nquestion: Is it fast?\ncommand: [python3, bench.py, flags: [n]]\naxes: {n: [1, 2]}\n"
    (folder / "recipes" / "two.yaml").write_text(f"{recipe}metrics: [{{name: step_ms, direction: min}}]\n")
    with_speeds(git, folder, "100", "100.1")
    answer = ci(cli, record, "--max-pairs", "2", "two")
    assert answer.code == 0, answer.err
    texts = [cli(*words, "--root", str(record)).out for words in (("status",), ("next",), ("compare", "CI-000"))]
    assert not any("ab --id" in text for text in (answer.out, answer.err, *texts))
    refused = cli("ab", "--root", str(record), "--id", "CI-000")
    assert (refused.code, "states no command" in refused.err) == (2, True)
