"""A checksum stands at the rows of its run, in whichever line and order a program prints it."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.seams import Store

pytestmark = pytest.mark.slow

METRICS = ("METRIC time_s=0.1", "METRIC loss=3")


@pytest.fixture
def ready(cli: Cli) -> Cli:
    assert cli("start", "t", "--prefix", "T", "--metric", "time_s:min:s", "--metric", "loss:min:watched").code == 0
    return cli


def labels(cli: Cli, folder: Path, *lines: str) -> list[dict[str, str]]:
    """The labels of the rows of a run that prints these lines."""
    (folder / "b.sh").write_text("cat <<'END'\n" + "\n".join(lines) + "\nEND\n")
    entry = cli("run", "--json", "--", "sh", "b.sh").data["id"]
    return [dict(row.labels or {}) for row in Store(folder, "t").run(entry, 1).rows]


@pytest.mark.parametrize(
    "line", ["checksum=abc", "checksum: abc", "[rank0]: checksum = abc", "RESULT checksum=abc", "METRIC checksum=abc"]
)
def test_a_line_of_its_own_in_any_order(ready: Cli, folder: Path, line: str) -> None:
    for lines in itertools.permutations((*METRICS, line)):
        assert labels(ready, folder, *lines) == [{"checksum": "abc"}], lines


@pytest.mark.parametrize(
    "lines",
    [
        ("METRIC time_s=0.1 checksum=abc", "METRIC loss=3"),
        ("METRIC loss=3", "METRIC time_s=0.1 checksum=abc"),
        ("RESULT time_s=0.1 loss=3", "checksum=abc"),
        ("RESULT checksum=abc", "RESULT time_s=0.1 loss=3"),
        ("time_s=0.1", "checksum=abc", "loss: 3"),
        (*METRICS, "checksum=abc rows=3000"),
        (*METRICS, "[rank0]: shape=(3,4) seed=7, checksum=abc"),
    ],
)
def test_beside_metrics(ready: Cli, folder: Path, lines: tuple[str, ...]) -> None:
    assert labels(ready, folder, *lines) == [{"checksum": "abc"}]


def test_each_of_several_checksums_counts(ready: Cli, folder: Path) -> None:
    assert labels(ready, folder, *METRICS, "checksum=abc", "checksum=def") == [{"checksum": "abc,def"}]
    cases = ("RESULT case=a time_s=1", "RESULT case=b time_s=2", "checksum=abc")
    assert [row["checksum"] for row in labels(ready, folder, *cases)] == ["abc", "abc"]
    assert labels(ready, folder, *METRICS, "checksum=abc md5=12 rows=9", "md5=13 rows=9") == [
        {"checksum": "abc", "md5": "12,13"}
    ]


@pytest.mark.parametrize(
    "line",
    [
        "the checksum: see below",
        "git_hash=abc",
        "saved checksum=abc",
        "checksum=abc rows=9 (cached)",
        "if checksum==abc rows=9",
        "commit_sha256=abc rows=9",
    ],
)
def test_prose_code_and_other_words_are_no_labels(ready: Cli, folder: Path, line: str) -> None:
    assert labels(ready, folder, *METRICS, line, "rows=9 threads=2") == [{}]


@pytest.mark.parametrize("line", ["checksum=$SUM", "checksum=$SUM rows=9", "RESULT checksum=$SUM"])
def test_another_checksum_leaves_the_answer_open(
    ready: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    (folder / "b.sh").write_text(
        f'SUM=$([ $Q = 1 ] && echo a || echo $OTHER)\necho "{line}"\necho METRIC loss=3\n'
        "echo METRIC time_s=$Q.$((LOGBOOK_RUN * 7 % 10))\n"
    )
    outcomes = {}
    for other in ("a", "b"):
        monkeypatch.setenv("OTHER", other)
        made = ready("ab", "--new", "--axis", "env:Q=1,2", "--json", "--", "sh", "b.sh")
        outcomes[other] = [f["outcome"] for f in made.data["answer"]["findings"] if f["metric"] == "time_s"]
    assert outcomes == {"a": ["worse"], "b": ["open"]}
    assert ready("edit", "T-000", "--gate", "same checksum").code == 0
    found = ready("compare", "T-000", "--json").data["answer"]
    assert [f["outcome"] for f in found["findings"] if f["metric"] == "time_s"] == ["worse"]


def test_what_a_gate_asks_for_is_read_from_a_line_of_its_own(ready: Cli, folder: Path) -> None:
    assert ready("edit", "--gate", "ok == 1", "--gate", "max_error <= 1e-3", "--reason", "it must be right").code == 0
    for lines, failed in (
        (("ok=1", "max_error: 2e-4"), ""),
        (("ok=1 max_error=0.0002",), ""),
        (("[rank0]: max_error: 0.0001", "[rank1]: max_error: 0.0005", "ok=1"), ""),
        (("ok=1", "max_error = 1.5e-4 rel"), ""),
        (("ok=0", "max_error: 2e-4"), "gate ok == 1: ok is 0"),
        (("ok=0", "ok=1", "max_error: 2e-4"), "gate ok == 1: ok is 0"),
        (("max_error: 0.2", "max_error: 1e-5", "ok=1"), "gate max_error <= 1e-3: max_error is 0.2"),
    ):
        labels(ready, folder, *METRICS, *lines)
        [entry, *_] = reversed(ready("list", "--json").data)
        assert (entry["state"] == "failed") == bool(failed), (lines, entry)
        assert failed in ready("status").out.partition(f"failed: {entry['id']}")[2].partition("\n")[0], lines


def test_the_gate_of_a_comparison_is_read_so_too(ready: Cli, folder: Path) -> None:
    (folder / "b.sh").write_text("echo METRIC time_s=0.1$LOGBOOK_RUN loss=3; echo ok=1")
    words = ("ab", "--axis", "mode=a,b", "--gate", "ok == 1", "--pairs", "2", "--", "sh", "b.sh", "{axis}")
    assert ready(*words).code == 0
