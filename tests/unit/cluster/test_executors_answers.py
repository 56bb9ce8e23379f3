"""What other machines and launchers answer when the answer does not come from logbook."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import field

from logbook_agent.cluster.job_templates import job_state
from logbook_agent.cluster.questions import Shell
from logbook_agent.cluster.remote import Remote
from logbook_agent.cluster.sent_code import Places
from logbook_agent.cluster.slurm import Slurm, SlurmSettings
from logbook_agent.model.errors import LogbookError
from logbook_agent.running import programs
from logbook_agent.running.programs import NoAnswer, ProgramAnswer, run_program
from logbook_agent.store.folder import Folder
from logbook_agent.store.spool import Seen, Sent, Spool
from logbook_agent.text.redaction.redactor import by_shape
from tests.contract.running.executors.conftest import is_gone, wait_for

pytestmark = pytest.mark.slow


_VALUES = (None, [], {}, "x", -1, 1e308, float("nan"), float("inf"), 2**70, True, "\ud800", {"format": 1}, ["ended"])


_KEYS = ("stage", "seen", "said", "has_begun", "silent_s", "is_closed", "complaint", "is_whole", "is_interrupted")


_NAMES = ("output.log", "../x", "/x", "code/../../x")
_PIECES = [(name, at, b"x") for name in _NAMES for at in (-1, 0, 7)]


_FOLDER = "~/far/spools/a.0"


class Login(Shell, frozen=True, kw_only=True):
    """A machine whose Slurm says so of a job."""

    host: str | None = "somewhere"
    environ: Mapping[str, str] = field(default_factory=dict)
    out: bytes = b""

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60.0) -> ProgramAnswer:
        return ProgramAnswer(code=0, out=self.out if argv[0] == "squeue" else b"")


def _answers(far: Remote, head: dict[str, Any]) -> Remote:
    """Have a machine answer everything with the same."""

    def ask(verb: str, request: object, *, timeout_s: float = 0) -> tuple[Any, Any]:
        return head, [(_FOLDER, _PIECES[len(str(head)) % len(_PIECES)])]

    vars(far)["ask"] = ask
    return far


def _heads() -> list[dict[str, Any]]:
    known = [{}, {"stage": "running", "has_begun": True}, {"stage": "ended", "complaint": "x"}]
    plain = [{**one, key: value} for one in known for key in _KEYS for value in _VALUES]
    whole = [{"runs": {_FOLDER: value}} for value in (*_VALUES, *plain)]
    return [*plain, *whole, *({"runs": value} for value in _VALUES), *({"failed": value} for value in _VALUES)]


def test_whatever_a_machine_answers_is_an_answer_or_a_named_error(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    spools = [Spool(files=Folder(tmp_path / f"open/A-000.0{n}", tmp_path)) for n in (1, 2)]
    for spool in spools:
        spool.files.make()
        spool.put(Sent(folder=_FOLDER))
    for head in _heads():
        remote = Remote(shell=Login(), places=Places(), environ=environ)
        for far in (remote, Slurm(shell=Login(), settings=SlurmSettings(), environ=environ)):
            _answers(far, head)
            with contextlib.suppress(LogbookError):
                far.stop(spools[:1])
            with contextlib.suppress(LogbookError):
                far.collect(spools[0])
            far.look(spools, with_log=True)
        (spools[0].folder / "seen.json").unlink(missing_ok=True)
    assert not (tmp_path / "x").exists()
    assert not (tmp_path / "open/x").exists()


def test_an_answer_is_bounded_in_size_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(script: str, most_bytes: int = 100) -> bytes:
        words = [sys.executable, "-SEc", script]
        return run_program(words, os.environ, timeout_s=20, name="box", most_bytes=most_bytes).out

    whole = "import os; os.write(1, b'{}\\nall'); os.write(1, b' of it')"
    assert answer(whole) == b"{}\nall of it"
    with pytest.raises(NoAnswer, match="box answered with more than 0 MiB"):
        answer(whole, most_bytes=8)
    monkeypatch.setattr(programs, "_STALL_S", 0.1)
    with pytest.raises(NoAnswer, match=r"box did not answer within 0\.1 s"):
        answer("import os, time; os.write(1, b'{}\\nhalf'); time.sleep(60)")


def test_why_a_job_waits_is_kept_as_it_changes(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    spool = Spool(files=Folder(tmp_path / "open/A-000.01", tmp_path), redactor=by_shape)
    spool.files.make()
    spool.put(Sent(folder=_FOLDER))
    secret = "hf_" + "Zk4" * 12
    for reason in ("Priority", "Resources", f"x {secret}\t{'y' * 9000}"):
        login = Login(out=f"12|a|PENDING|{reason}|\n".encode())
        far = Slurm(shell=login, settings=SlurmSettings(), environ=environ)
        _answers(far, {"runs": {_FOLDER: {"stage": "sent"}}}).look([spool])
        seen = spool.get(Seen)
        assert seen is not None
        assert seen.said is not None
        assert seen.said.startswith(f"job 12_0 is PENDING ({reason[:1]}")
        assert secret not in seen.said
        assert len(seen.said) <= 500
        assert "\t" not in seen.said


def test_an_answer_that_is_nested_without_end_tells_no_state() -> None:
    found = job_state("[" * 100_000, {}, {})
    assert found is not None
    assert found.fate == "running"


def test_a_program_without_an_answer_is_ended_with_what_it_started(tmp_path: Path) -> None:
    script = f"sleep 60 & echo $! > {tmp_path}/pid; wait"
    with pytest.raises(NoAnswer, match="sh did not answer within"):
        run_program(("sh", "-c", script), os.environ, stdin=b"x" * 10**6, timeout_s=0.5)
    wait_for(lambda: is_gone(int((tmp_path / "pid").read_text())))
