"""`--read`: what a command wrote becomes rows of its run. `cp` and `sh` stand for the tools, with files that these
wrote; pytest-benchmark is the real one."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.stored import at

FILES = Path(__file__).parent / "files"
UPDATE = os.environ.get("LOGBOOK_UPDATE_GOLDEN") == "1"
HYPERFINE = str(FILES / "hyperfine-1.15.0-parameters.json")
PLACE = "{file}"


@pytest.fixture
def bench(cli: Cli) -> Cli:
    """The command line in a folder with a logbook whose metric is a time."""
    assert cli("start", "bench", "--prefix", "B", "--metric", "time_s:min:s").code == 0
    return cli


def run_of(folder: Path, entry: str, number: int = 1) -> Any:
    return json.loads(at(folder / f"logbooks/bench/runs/{entry}/{number:02d}/run.json").read_text())


def test_a_file_becomes_rows(bench: Cli, folder: Path) -> None:
    done = bench("run", "--read", "hyperfine", "--config", "cpu=x", "--", "cp", HYPERFINE, PLACE)
    assert done.code == 0, done.err
    run = run_of(folder, "B-000")
    # As it was typed: two runs of one command are alike.
    assert (run["read"], run["argv"][2]) == ("hyperfine", PLACE)
    assert run["rows"][1]["config"] == {"cpu": "x", "n": 2}
    assert len(run["rows"][1]["metrics"]["time_s"]["samples"]) == 6
    assert "- read: `hyperfine`" in bench("show", "B-000").out
    compared = bench("compare", "B-000", "--axis", "n").out
    # Samples of one run are no pairs.
    assert "logbook ab cannot vary n" in compared


@pytest.mark.parametrize("file", sorted(FILES.glob("[ghp]*.json")), ids=lambda path: path.stem)
def test_the_rows_of_each_file(bench: Cli, folder: Path, file: Path) -> None:
    """What a tool wrote, and its rows as they were read: to accept a change, LOGBOOK_UPDATE_GOLDEN=1."""
    tool = next(name for name in ("pytest-benchmark", "google-benchmark", "hyperfine") if file.name.startswith(name))
    assert bench("run", "--read", tool, "--", "cp", str(file), PLACE).code == 0
    run = run_of(folder, "B-000")
    found = {"rows": run["rows"], "problems": [problem["text"] for problem in run.get("problems", ())]}
    golden = FILES.with_name("rows") / file.name
    if UPDATE:
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(json.dumps(found, indent=1) + "\n")
    assert found == json.loads(golden.read_text())


def test_in_a_shell_and_in_variables(bench: Cli, folder: Path) -> None:
    assert bench("run", "--read", "hyperfine", "--shell", "--", f"cat {HYPERFINE} > {PLACE}").code == 0
    script = f'cp {HYPERFINE} "$OUT"'
    assert bench("run", "--read", "hyperfine", "--", f"OUT={PLACE}", "sh", "-c", script).code == 0
    assert [len(run_of(folder, entry)["rows"]) for entry in ("B-000", "B-001")] == [3, 3]


def test_detached(bench: Cli, folder: Path) -> None:
    words = ("--read", "hyperfine:out/*.json", "--", "sh", "-c", f"mkdir out; cp {HYPERFINE} out/a.json")
    assert bench("run", "--detach", *words).code == 0
    assert bench("wait").code == 0
    assert len(run_of(folder, "B-000")["rows"]) == 3


def test_the_newest_of_several_with_the_file_that_explains_it(bench: Cli, folder: Path) -> None:
    """asv keeps a file for each commit, and one that names parameters above them. Its benchmarks began before this run,
    so here they say that they begin now."""
    data = json.loads((FILES / "asv-0.6.6.json").read_text())
    for values in data["results"].values():
        values[3] = 4e12
    (folder / "in.json").write_text(json.dumps(data))
    script = (
        f"mkdir -p r/vm; cp {FILES}/asv-0.6.6-benchmarks.json r/benchmarks.json; echo x > r/vm/a-old.json; sleep 0.05"
    )
    words = ("--read", "asv:r/*/*-*.json", "--", "sh", "-c", f"{script}; cp in.json r/vm/b-new.json")
    assert bench("run", *words).code == 0
    run = run_of(folder, "B-000")
    assert list(run["rows"][0]["config"]) == ["benchmark", "n", "kind"]
    [problem] = [p["text"] for p in run["problems"]]
    assert "b-new.json" in problem


@pytest.mark.parametrize(
    "script",
    [
        "true",
        "rm out.json",
        "echo > out.json",
        "echo '{' > out.json",
        "echo '{\"results\": []}' > out.json",
        f"cp {FILES / 'google-benchmark-1.7.1.json'} out.json",
        'echo \'{"results": [{"times": 3}]}\' > out.json',
    ],
)
@pytest.mark.sample(5)
def test_what_cannot_be_read_is_a_problem(bench: Cli, folder: Path, script: str) -> None:
    (folder / "out.json").write_bytes(Path(HYPERFINE).read_bytes())
    assert bench("run", "--read", "hyperfine:out.json", "--", "sh", "-c", script).code == 0
    run = run_of(folder, "B-000")
    assert "rows" not in run
    assert run["problems"][-1]["text"].startswith("--read hyperfine:out.json: ")
    assert ("--read google-benchmark" in run["problems"][-1]["text"]) == ("google" in script)


def test_no_file_at_the_place(bench: Cli, folder: Path) -> None:
    bench("run", "--read", "hyperfine", "--", "true", PLACE)
    [problem] = [p["text"] for p in run_of(folder, "B-000")["problems"]]
    assert "--export-json {file}" in problem


@pytest.mark.parametrize(
    ("read", "words", "hint"),
    [
        ("hyperfin:x.json", ["true"], "--read hyperfine:x.json"),
        ("hyperfine", ["true"], "--export-json {file}"),
        ("asv", ["true"], "--read 'asv:.asv/results/*/*-*.json'"),
        ("hyperfine", ["./dev_tpu.py", "execute", "--", "true", PLACE], "--read 'hyperfine:times.json'"),
    ],
)
def test_refused_before_there_is_an_entry(bench: Cli, read: str, words: list[str], hint: str) -> None:
    done = bench("run", "--json", "--read", read, "--", *words)
    assert (done.code, f"--read {read}" in done.error["message"], hint in done.error["hint"]) == (2, True, True)
    assert bench("list", "--json").data == []


def test_secrets_of_a_file_are_hidden(bench: Cli, folder: Path) -> None:
    secret = "hf_" + "Q7vX2mLp9RkT4wYb8NcZ1sDf6GhJ3eAu5K"
    text = (FILES / "hyperfine-1.15.0-failures.json").read_text().replace('"false"', f'"curl -H {secret}"')
    (folder / "in.json").write_text(text)
    assert bench("run", "--read", "hyperfine", "--", "cp", "in.json", PLACE).code == 0
    run = run_of(folder, "B-000")
    # In its label, and in what is said of it.
    assert "curl" in run["rows"][0]["labels"]["benchmark"]
    assert "4 of 4" in run["problems"][0]["text"]
    assert secret not in json.dumps(run)


PAIRS = """\
import json, sys
slow, path = sys.argv[1] == "slow", sys.argv[2]
times = [0.2 + 0.1 * slow + 0.001 * i for i in range(4)]
json.dump({"results": [{"command": f"prog {sys.argv[1]}", "times": times}]}, open(path, "w"))
"""


def test_an_ab_compares_what_was_read(bench: Cli, folder: Path) -> None:
    """Each run has one value, however many samples it read; by its ID the A/B reads as it was typed."""
    (folder / "tool.py").write_text(PAIRS)
    words = ("--read", "hyperfine", "--axis", "mode=fast,slow", "--", "python", "tool.py", "{axis}", PLACE)
    done = bench("ab", "--json", "--max-pairs", "2", *words)
    assert done.code == 0, done.err
    [finding] = done.data["answer"]["findings"]
    assert finding["pairs"] == 2
    assert finding["change"] == pytest.approx(0.3015 / 0.2015 - 1)
    more = bench("ab", "--id", "B-000", "--max-pairs", "1", "--json")
    assert (more.code, more.data["answer"]["pairs"]) == (0, 3), more.err


def test_a_recipe_reads_too(bench: Cli, folder: Path) -> None:
    (folder / "tool.py").write_text(PAIRS)
    (folder / "modes.yaml").write_text(
        "name: modes\nquestion: Which mode is faster?\nread: hyperfine\n"
        'command: [python, tool.py, "{mode}", "{{file}}"]\nmetrics: [time_s]\naxes: {mode: [slow, fast]}\nconfirm: 0\n'
    )
    done = bench("sweep", "./modes.yaml", "--json")
    assert done.code == 0, done.out
    assert (done.data["rows"], done.data["problems"]) == (2, [])
    assert bench("sweep", "./modes.yaml", "--new", "--set", "read=nothing").code == 2


def test_ci_reads_too(folder: Path, cli: Cli, git: Callable[..., str]) -> None:
    (folder / "tool.py").write_text(PAIRS)
    git("add", "tool.py")
    git("commit", "-qm", "The tool")
    (folder / "tool.py").write_text(PAIRS.replace("0.2 +", "0.1 +"))
    git("commit", "-qam", "Faster")
    words = ("--max-pairs", "2", "--metric", "time_s", "--read", "hyperfine", "--", "python", "tool.py", "fast", PLACE)
    done = cli("ci", "--dry-run", "--base", "HEAD~1", *words)
    assert done.code == 0, done.err
    assert "time_s" in done.out
    assert "--read hyperfine" in done.out


TEST = """\
import pytest

@pytest.mark.parametrize("n", [10, 20])
def test_sum(benchmark, n):
    benchmark.pedantic(sum, args=(range(n),), rounds=5)
"""


def test_with_the_real_pytest_benchmark(bench: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # In a process of pytest-xdist it measures nothing.
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    (folder / "test_sum.py").write_text(TEST)
    words = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--benchmark-json={PLACE}", "test_sum.py")
    done = bench("run", "--read", "pytest-benchmark", "--env", f"HOME={folder}", "--", *words)
    assert done.code == 0, done.err
    run = run_of(folder, "B-000")
    rows = run["rows"]
    assert "withheld" not in json.dumps(run.get("problems"))
    assert [row["config"] for row in rows] == [{"benchmark": "test_sum.py::test_sum", "n": n} for n in (10, 20)]
    assert all(len(row["metrics"]["time_s"]["samples"]) == 5 for row in rows)
