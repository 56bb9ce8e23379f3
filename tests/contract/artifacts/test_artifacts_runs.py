"""Files of real runs: copied at their end, shown, checked by doctor, and out of git until somebody adds them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.artifacts.left_files import PNG, script
from tests.contract.running.executors.conftest import is_gone, wait_for
from tests.seams import Store
from tests.stored import at


def run_of(folder: Path, number: int = 1, entry: str = "MOE-000") -> dict[str, object]:
    found: dict[str, object] = json.loads(at(folder / f"logbooks/moe/runs/{entry}/{number:02d}/run.json").read_text())
    return found


def copies(folder: Path, number: int = 1, entry: str = "MOE-000") -> list[str]:
    return sorted(p.name for p in at(folder / f"logbooks/moe/runs/{entry}/{number:02d}/artifacts").glob("*"))


def test_a_run_keeps_files(started: Cli, folder: Path, git: Callable[..., str]) -> None:
    argv = ("--keep", "out/*.png", "--keep", "out/none*", "--hypothesis", "as ![](b.svg)", "--", *script(folder))
    answer = started("run", *argv)
    assert answer.code == 3, "the exit code is that of the command"
    assert all(name in answer.err for name in ("out/none*", "notes.txt", "out/loss.png", "b.svg"))
    record = run_of(folder)
    assert [a["name"] for a in record["artifacts"]] == ["notes.txt", "out/loss.png", "b.svg"]  # type: ignore[attr-defined, index]
    assert [a["media_type"] for a in record["artifacts"]] == ["text/plain", "image/png", "image/svg+xml"]  # type: ignore[attr-defined, index]
    assert len(copies(folder)) == 3

    shown = started("show", "MOE-000").out
    place = at(folder / "logbooks/moe/runs/MOE-000/01").relative_to(folder / "logbooks").as_posix()
    [png] = [name for name in copies(folder) if name.endswith(".png")]
    assert f"[out/loss.png]({place}/artifacts/{png}) ({len(PNG)} B, image/png)" in shown
    assert f"![out/loss.png]({place}/artifacts/{png})" in (folder / "logbooks/moe.md").read_text()
    [data] = started("show", "MOE-000", "--json").data["runs"]
    assert data["artifacts"] == record["artifacts"]
    assert started("render", "--check").code == 0

    git("add", "-A")
    assert "artifacts" not in git("ls-files", "logbooks")
    git("add", "-f", f"logbooks/{place}/artifacts")
    assert f"logbooks/{place}/artifacts/{png}" in git("ls-files", "logbooks")


def test_doctor_sees_a_copy_that_was_changed(started: Cli, folder: Path) -> None:
    started("run", "--keep", "*.txt", "--", *script(folder))
    assert started("doctor").code == 0
    [name] = copies(folder)
    path = at(folder / "logbooks/moe/runs/MOE-000/01/artifacts" / name)
    path.write_bytes(path.read_bytes() + b"x")
    answer = started("doctor")
    assert answer.code == 1
    assert "notes.txt" in answer.out
    path.unlink()
    assert started("doctor").code == 0, "copies stay on the machine that made them"


def test_a_picture_that_no_run_kept_is_told(started: Cli, folder: Path) -> None:
    assert started("run", "--keep", "out/*", "--", *script(folder)).code == 3
    answer = started("edit", "MOE-000", "--interpretation", "as ![](out/loss.png)")
    assert answer.err == ""
    answer = started("edit", "MOE-000", "--interpretation", "as ![](out/loss.png) and ![](<a b.png>)")
    assert "logbook run --id MOE-000 --keep 'a b.png' -- COMMAND" in answer.err


@pytest.mark.slow
def test_a_copy_that_did_not_arrive_whole_is_told(started: Cli, folder: Path) -> None:
    words = script(folder, "echo $PPID > ../worker")
    assert started("run", "--detach", "--keep", "*.txt", "--", *words).code == 0
    worker = folder.parent / "worker"
    wait_for(lambda: worker.exists() and worker.read_text() and is_gone(int(worker.read_text())))
    [copy] = Store(folder).working()[0].glob("artifacts/*")
    copy.write_text("other")
    assert started("status").code == 0
    assert "notes.txt" in str(run_of(folder)["problems"])


@pytest.mark.slow
def test_a_secret_by_its_name_leaves_a_text_in_utf_16(started: Cli, folder: Path) -> None:
    words = "open('notes.txt', 'w', encoding='utf-16').write('password: hunter-71-Zq7x9Kp2')"
    assert started("run", "--keep", "*.txt", "--", "python3", "-c", f"{words}; print('METRIC tflops=1')").code == 0
    [name] = copies(folder)
    kept = at(folder / "logbooks/moe/runs/MOE-000/01/artifacts" / name)
    assert kept.read_text(encoding="utf-16").startswith("password: [redacted:")


@pytest.mark.slow
def test_a_detached_run_a_sweep_of_pairs_and_a_secret(
    started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "hf_" + "Q7x" * 12
    monkeypatch.setenv("HF_TOKEN", secret)
    assert (
        started("run", "--detach", "--keep", "*.txt", "--", *script(folder, 'echo "$HF_TOKEN" >> notes.txt')).code == 0
    )
    assert started("wait").code == 3
    assert copies(folder) == [name for name in copies(folder) if name.endswith(".txt")] != []
    kept = at(folder / "logbooks/moe/runs/MOE-000/01/artifacts" / copies(folder)[0])
    assert kept.read_text() == "lr=0.1\n$HF_TOKEN\n"

    argv = ("--axis", "mode=a,b", "--pairs", "1", "--keep", "x-*.txt", "--")
    assert started("ab", *argv, "sh", "-c", "echo RESULT tflops=1; echo {axis} > x-{axis}.txt").code == 0
    # The second run of the pair finds the file of the first one, too.
    assert [len(run_of(folder, number, "MOE-001")["artifacts"]) for number in (1, 2)] == [1, 2]  # type: ignore[arg-type]
    assert secret.encode() not in b"".join(p.read_bytes() for p in (folder / "logbooks").rglob("*") if p.is_file())


def whole_in(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*") if not path.name.startswith(".")]


@pytest.mark.slow
def test_what_was_not_copied_at_a_kill_is_absent(started: Cli, folder: Path) -> None:
    """The process that copies is killed while it does: whole copies or none, and a record that is finished without
    them."""
    (folder / "big").mkdir()
    for number in range(9):
        (folder / f"big/{number}.bin").write_bytes(bytes([number]) * 9_000_000)
    argv = [sys.executable, "-m", "logbook_agent", "run", "--keep", "big/*", "--", "true"]
    process = subprocess.Popen(argv, cwd=folder)
    left = folder / "logbooks/moe/runs/MOE-000/01/work/artifacts"
    deadline = time.monotonic() + 60
    while not whole_in(at(left)) and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    whole = whole_in(at(left))
    assert all(path.stat().st_size == 9_000_000 for path in whole)
    assert 0 < len(whole) < 9
    assert started("doctor", "--fix").code == 0
    assert "artifacts" not in run_of(folder)
    assert whole_in(at(left)) == []
    assert Store(folder).runs("MOE-000")[0].exit is not None
