"""`doctor --secrets`: what earlier versions wrote is found in files and in git's history, and nothing is changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Answer, Cli
from tests.seams import set_size

WORD = "aB3dE6gH9jK2mN5pQ8sT1"


TOKEN = "h" + "f_" + WORD


KEY = f"-----BEGIN PRI{'VATE'} KEY-----\nMIIEpAIBAAKCAQEA0abcdefgh\n-----END PRI{'VATE'} KEY-----\n"


def planted(book: Path, change: Callable[[Path], None]) -> None:
    """Write into files of a logbook as a version without these rules would have."""
    run = book / "runs/MOE-000/01/run.json"
    plain = json.loads(run.read_text())
    plain["argv"] = ["launch", "-e", "WANDB_API_KEY", WORD, "--", "x"]
    run.write_text(json.dumps(plain, indent=1))
    (book / "runs/MOE-000/01/output.log").write_text(f"one\ntwo {TOKEN}\n{KEY}")
    entry = book / "entries/MOE-000.yaml"
    entry.write_text(entry.read_text() + f"fields:\n- {{label: API key, text: {WORD}}}\n")
    change(book)


@pytest.fixture
def leaky(started: Cli, folder: Path) -> Cli:
    assert started("run", "--", "echo", "RESULT tflops=1").code == 0
    planted(folder / "logbooks/moe", lambda book: None)
    return started


def said(answer: Answer) -> dict[str, str]:
    return {Path(f["file"] or "").name: f["message"] for f in answer.data["findings"]}


def test_files_with_secrets_are_named_and_not_their_values(leaky: Cli, folder: Path) -> None:
    before = {p: p.read_bytes() for p in (folder / "logbooks").rglob("*") if p.is_file()}
    answer = leaky("doctor", "--secrets", "--json")
    assert answer.code == 1
    assert said(answer) == {
        "MOE-000.yaml": "holds api-key (fields[0].text)",
        "output.log": "holds huggingface-token (line 2), private-key (line 3)",
        "run.json": "holds $WANDB_API_KEY (argv[3])",
    }
    assert WORD not in answer.out
    assert {p: p.read_bytes() for p in (folder / "logbooks").rglob("*") if p.is_file()} == before
    text = leaky("doctor", "--secrets")
    assert "error: logbooks/moe/runs/MOE-000/01/output.log: holds huggingface-token (line 2)" in text.out
    assert text.out.splitlines()[-1] == "moe: 3 errors"


def test_a_value_of_a_variable_is_found(started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTER_SECRET", "four-five-six-seven")
    assert started("run", "--", "true").code == 0
    (folder / "logbooks/moe/runs/MOE-000/01/output.log").write_text("x four-five-six-seven\n" * 2)
    answer = started("doctor", "--secrets", "--json")
    assert said(answer) == {"output.log": "holds $CLUSTER_SECRET (line 1), $CLUSTER_SECRET (line 2)"}


def test_git_history_is_looked_through_and_left(git: Callable[..., str], started: Cli, folder: Path) -> None:
    assert started("run", "--", "echo", "RESULT tflops=1").code == 0
    log = folder / "logbooks/moe/runs/MOE-000/01/run.json"
    clean = log.read_text()
    log.write_text(clean.replace('"RESULT tflops=1"', f'"--api-key", "{WORD}"', 1))
    git("add", "logbooks")
    git("commit", "-q", "-m", "With a secret")
    commit = git("rev-parse", "--short", "HEAD")
    log.write_text(clean)
    git("add", "logbooks")
    git("commit", "-q", "-m", "Without")
    refs = git("rev-parse", "HEAD")
    answer = started("doctor", "--secrets", "--json")
    [finding] = answer.data["findings"]
    assert finding["message"] == (
        f"logbooks/moe/runs/MOE-000/01/run.json in git's history (commit {commit}) holds $API_KEY (argv[2])"
    )
    assert finding["file"] is None
    assert WORD not in answer.out
    assert git("rev-parse", "HEAD") == refs
    assert git("status", "--porcelain", "--untracked-files=no") == ""


def test_nothing_is_found_in_what_this_version_writes(
    git: Callable[..., str], started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLUSTER_SECRET", "four-five-six-seven")
    script = f"echo {TOKEN} $CLUSTER_SECRET; echo 'RESULT password={WORD} tflops=1'; printf '%s' '{KEY}'"
    ran = started("run", "--field", f"API key={WORD}", "--config", f"api_key={WORD}", "--", "sh", "-c", script)
    assert ran.code == 0
    git("add", "logbooks")
    git("commit", "-q", "-m", "A logbook")
    answer = started("doctor", "--secrets")
    assert (answer.code, answer.out) == (0, "moe: nothing is wrong\n")


def test_a_large_log_is_read_in_pieces(started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_size(monkeypatch, "piece of a search for secrets, bytes", 1000)
    assert started("run", "--", "true").code == 0
    log = folder / "logbooks/moe/runs/MOE-000/01/output.log"
    log.write_text(
        "".join(f"line {n} {'x' * (n % 90)}\n" for n in range(1, 400)) + f"{TOKEN}\n" + "y" * 5000 + f" {TOKEN}"
    )
    answer = started("doctor", "--secrets", "--json")
    assert said(answer) == {"output.log": "holds huggingface-token (line 400), huggingface-token (line 401)"}


@pytest.mark.parametrize("other", [["--fix"], ["--stop", "MOE-000"]])
@pytest.mark.slow
def test_it_changes_nothing(started: Cli, other: list[str]) -> None:
    answer = started("doctor", "--secrets", *other)
    assert answer.code == 2
    assert answer.err.splitlines()[0] == f"error: cannot combine {other[0]} and --secrets"
