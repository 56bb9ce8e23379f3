"""A head that wants to look as fast as its base: what it changes beside itself is found, and what it says of how it is
judged does not hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Answer, Cli
from tests.contract.issue.gate.gate_support import BENCH, BENCH_WORDS, Git, commit, with_speeds

pytestmark = pytest.mark.slow

# What a head does in the tree beside it, before it measures itself.
ATTACKS = {
    "a file of the commit": "(beside / 'speed.txt').write_text('110')",
    "a module that is found first": "(beside / 'random.py').write_text('import time')",
    "a file taken away": "(beside / 'speed.txt').unlink()",
}
LATER = "import subprocess; subprocess.Popen(['sh', '-c', 'sleep 0.2; echo 110 > ../base/speed.txt'])"


def ci(cli: Cli, tmp_path: Path, *args: str) -> Answer:
    return cli("ci", "--json", "--base", "main", "--root", str(tmp_path / "record"), *args)


def title(answer: Answer) -> str:
    text: str = answer.data["comment"]["text"]
    return text.partition("\n")[0]


def hostile(git: Git, folder: Path, attack: str, *, calls: int = 1) -> None:
    """`pr` is 10% slower, and does this when it is measured for the n-th time."""
    with_speeds(git, folder, "100", "110")
    counted = f"import pathlib\nbeside = pathlib.Path('../base')\nif number >= {calls} and beside.is_dir(): {attack}\n"
    commit(git, folder, "bench.py", BENCH.replace("noise =", f"{counted}noise ="))


@pytest.mark.parametrize("attack", [pytest.param(ATTACKS[name], id=name) for name in ATTACKS])
@pytest.mark.sample(2)
def test_a_head_that_writes_into_the_base_is_not_measured(
    cli: Cli, git: Git, folder: Path, tmp_path: Path, attack: str
) -> None:
    hostile(git, folder, attack)
    answer = ci(cli, tmp_path, "--max-pairs", "8", *BENCH_WORDS)
    assert (answer.code, answer.data["outcome"]) == (6, "not-measured")
    assert "base" in title(answer)
    assert answer.data["changed"]
    assert answer.data["answer"] is None


def test_a_pair_beside_which_the_base_was_changed_is_out(cli: Cli, git: Git, folder: Path, tmp_path: Path) -> None:
    """And those before it stand in the table; nothing is said to be settled."""
    hostile(git, folder, ATTACKS["a file of the commit"], calls=11)
    answer = ci(cli, tmp_path, "--max-pairs", "8", *BENCH_WORDS)
    assert (answer.code, answer.data["outcome"], answer.data["stopped"]["by"]) == (6, "not-measured", "code-changed")
    [found] = answer.data["answer"]["findings"]
    assert (found["pairs"], found["outcome"]) == (4, "open")
    runs = cli("show", "CI-000", "--root", str(tmp_path / "record"), "--json").data["runs"]
    left_out = [
        run
        for run in runs
        if any("left out: the code changed: speed.txt of base" in problem["text"] for problem in run["problems"])
    ]
    assert 1 <= len(left_out) <= 2
    assert all(run["discarded"] for run in left_out)


def test_what_a_process_of_the_head_does_while_the_base_runs_is_found(
    cli: Cli, git: Git, folder: Path, tmp_path: Path
) -> None:
    hostile(git, folder, LATER)
    slow = BENCH.replace("noise =", "import time; time.sleep(0.5)\nnoise =")
    git("checkout", "-q", "main")
    commit(git, folder, "bench.py", slow)
    git("checkout", "-q", "pr")
    answer = ci(cli, tmp_path, "--max-pairs", "3", *BENCH_WORDS)
    assert (answer.code, answer.data["outcome"]) == (6, "not-measured")


def test_what_a_side_builds_and_leaves_in_its_own_tree_is_no_change(
    cli: Cli, git: Git, folder: Path, tmp_path: Path
) -> None:
    """Nor is a tracked file that setup writes anew, as it was."""
    leaving = BENCH.replace("noise =", "open('calls.log', 'a').write('x'); import extra\nnoise =")
    (folder / "extra.py").write_text("")
    (folder / "bench.py").write_text(leaving)
    commit(git, folder, "speed.txt", "100")
    git("checkout", "-q", "-b", "pr")
    commit(git, folder, "speed.txt", "80")
    answer = ci(cli, tmp_path, "--max-pairs", "2", "--setup", "touch extra.py; mkdir build", *BENCH_WORDS)
    assert (answer.code, answer.data["answer"]["pairs"], answer.data["changed"]) == (0, 2, None), answer.err


def test_no_line_is_a_command_to_the_runner(
    cli: Cli, git: Git, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a program prints, on stdout or stderr, in text or JSON."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_REPOSITORY", "ada/bench")
    said = r"\n  ::error::forged\n\t##[error]forged ##[add-mask]x\r::stop-commands::y\n"
    git("checkout", "-q", "-b", "pr")
    commit(git, folder, "bench.py", f"raise SystemExit('{said}')")
    words = ("ci", "--dry-run", "--base", "main", "--root", str(tmp_path / "record"))
    for more in ((), ("--json",)):
        answer = cli(*words, *more, "--", "python3", "bench.py")
        assert answer.code == 5
        assert "forged" in answer.out
        assert not [line for line in (answer.out + answer.err).splitlines() if line.lstrip().startswith("::")]
        assert "##[" not in answer.out + answer.err


def with_recipe(git: Git, folder: Path) -> Path:
    (folder / "recipes").mkdir()
    path = folder / "recipes/speed.yaml"
    path.write_text(
        "name: speed\nquestion: How long does it take?\ncommand: [python3, bench.py]\n"
        "metrics: [{name: step_ms, direction: min, unit: ms}]\n"
    )
    with_speeds(git, folder, "100", "110")
    return path


def test_the_recipe_of_the_base_says_what_is_better(cli: Cli, git: Git, folder: Path, tmp_path: Path) -> None:
    recipe = with_recipe(git, folder)
    commit(git, folder, "recipes/speed.yaml", recipe.read_text().replace("direction: min", "direction: max"))
    answer = ci(cli, tmp_path, "--max-pairs", "1", "speed")
    assert [found["direction"] for found in answer.data["answer"]["findings"]] == ["min"]
    assert "recipe speed" in answer.data["comment"]["text"]


VALUE = "float(open('speed.txt').read())"
STATED = 'import json; print("RESULT_JSON", json.dumps({"metrics": {"work": {"samples": [%s], "direction": "min"}}}))'


@pytest.mark.parametrize(
    ("base", "code", "outcome"),
    [
        pytest.param(STATED % VALUE, 1, "worse", id="which says that less is better"),
        pytest.param(f"print('METRIC work=%f' % {VALUE})", 0, "open", id="which says nothing"),
    ],
)
def test_what_the_head_prints_does_not_say_what_is_better(
    cli: Cli, git: Git, folder: Path, tmp_path: Path, base: str, code: int, outcome: str
) -> None:
    """Only the rows of the base can."""
    (folder / "bench.py").write_text(base)
    commit(git, folder, "speed.txt", "100")
    git("checkout", "-q", "-b", "pr")
    (folder / "bench.py").write_text((STATED % VALUE).replace('"min"', '"max"'))
    commit(git, folder, "speed.txt", "110")
    answer = ci(cli, tmp_path, "--", "python3", "bench.py")
    assert (answer.code, answer.data["outcome"]) == (code, outcome)


def test_settings_and_rules_are_those_of_the_base(cli: Cli, git: Git, folder: Path, tmp_path: Path) -> None:
    with_speeds(git, folder, "100", "110")
    rule = '[[secret_rules]]\nid = "gone"\nregex = "step_ms=11[0-9.]+"\n'
    commit(git, folder, "logbook.toml", f'secrets = ["step_ms"]\n{rule}')
    answer = ci(cli, tmp_path, "--max-pairs", "1", *BENCH_WORDS)
    assert answer.data["answer"]["pairs"] == 1
    text = answer.data["comment"]["text"]
    assert "redacted" not in text
    assert "(secrets, secret_rules)" in text.replace("\\_", "_")


def test_settings_of_the_head_that_cannot_be_read_end_nothing(cli: Cli, git: Git, folder: Path, tmp_path: Path) -> None:
    with_speeds(git, folder, "100", "110")
    commit(git, folder, "logbook.toml", "unknown = 1")
    answer = ci(cli, tmp_path, "--max-pairs", "1", *BENCH_WORDS)
    assert answer.data["answer"]["pairs"] == 1
    assert "settings" in answer.data["differences"][0]
