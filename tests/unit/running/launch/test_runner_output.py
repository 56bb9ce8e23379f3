"""The log on disk and its excerpts, in the calling process and under a whole run."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.model.worker_report import Output
from logbook_agent.running.launch.output_log import LogExcerpt, OutputLog
from logbook_agent.store.folder import Folder
from logbook_agent.text.redaction.names import Secret
from logbook_agent.text.redaction.redactor import Redactor
from tests.breadth import examples

TOKEN = "correct-horse-battery"
REDACTOR = Redactor(secrets=(Secret(name="MY_TOKEN", value=TOKEN),))


def log_in(folder: Path, **options: int) -> OutputLog:
    return OutputLog(folder / "output.log", REDACTOR.values, files=Folder(folder), **options)


def finished(log: OutputLog, folder: Path) -> Output:
    """What is recorded of it when its run is taken in."""
    counted, excerpt = log.finish(), LogExcerpt(REDACTOR.text)
    excerpt.feed((folder / "output.log").read_bytes())
    return excerpt.output(counted)


def test_readable_lines(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    log.feed("stdout", b"bad \xff nul \x00 bell \x07\n\x1b[1mbold\x1b[0m\x1b]0;t\x07\n\n")
    log.feed("stdout", b" 1%\r 2%\r" + b"x" * 700 + b"\r\n")
    log.feed("stdout", "right\u202eleft\u2028\n".encode())
    assert finished(log, tmp_path).head == (
        "bad \ufffd nul \\x00 bell \\x07",
        "bold",
        "",
        "x" * 500 + "… (+200 characters)",
        "right\\u202eleft\\u2028",
    )


def test_secrets_reach_neither_log_nor_excerpts(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    log.feed("stdout", f"a {TOKEN[:9]}".encode())
    log.idle()
    log.feed("stdout", f"{TOKEN[9:]} b\n".encode())
    log.feed("stderr", f"{TOKEN[:9]}\x1b[0m{TOKEN[9:]}\n".encode())
    output = finished(log, tmp_path)
    assert (tmp_path / "output.log").read_text().splitlines()[0] == "a $MY_TOKEN b"
    assert output.head == ("a $MY_TOKEN b", "$MY_TOKEN")
    assert output.error_tail == ("$MY_TOKEN",)


def test_every_line_is_on_disk_at_once(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    path = tmp_path / "output.log"
    log.feed("stdout", b"first\nProceed? [y/N] ")
    assert path.read_bytes() == b"first\n"
    log.idle()
    assert path.read_bytes() == b"first\nProceed? [y/N] "


def test_cap_ends_the_log_but_not_the_count(tmp_path: Path) -> None:
    log = log_in(tmp_path, max_bytes=25)
    for i in range(10):
        log.feed("stdout", b"line %d is long\n" % i)
    output = finished(log, tmp_path)
    data = (tmp_path / "output.log").read_bytes()
    assert data.startswith(b"line 0 is long\nline 1 is \n[logbook] ")
    assert data.count(b"[logbook]") == 1
    assert data.endswith(b"25 bytes\n")
    assert output.truncated
    assert (output.bytes, output.lines, output.log_bytes) == (150, 10, len(data))
    assert output.sha256 == hashlib.sha256(data).hexdigest()
    assert output.tail[-2:] == ("line 8 is long", "line 9 is long")


def test_results_that_the_log_cannot_hold_are_kept_beside_it(tmp_path: Path) -> None:
    log = log_in(tmp_path, max_bytes=20)
    for i in range(3):
        log.feed("stdout", b"RESULT tflops=%d\nmore\n" % i)
    log.finish()
    assert log.unlogged == ["RESULT tflops=1", "RESULT tflops=2"]


def test_where_a_line_is_broken_off_by_the_other_stream(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    log.feed("stderr", b"50% ")
    log.idle()
    log.feed("stdout", b"RESULT tflops=1\n")
    log.feed("stderr", b"100%\n")
    log.finish()
    assert (tmp_path / "output.log").read_bytes() == b"50% RESULT tflops=1\n100%\n"
    assert log.breaks == [4]


def test_full_disk_is_a_problem_not_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_in(tmp_path)
    log.feed("stdout", b"kept\n")

    def full(fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        log.feed("stdout", b"lost\n")
    log.feed("stdout", b"after\n")
    output = finished(log, tmp_path)
    assert len(log.problems) == 1
    assert "No space left" in log.problems[0]
    assert output.truncated
    assert output.tail == ("kept", "lost", "after")
    assert (tmp_path / "output.log").read_bytes() == b"kept\n"
    assert output.sha256 == hashlib.sha256(b"kept\n").hexdigest()


def test_log_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "output.log").write_text("earlier")
    log = log_in(tmp_path)
    log.feed("stdout", b"x\n")
    output = log.finish()
    assert "could not be opened" in log.problems[0]
    assert (output.tail, output.log_bytes, output.truncated) == (("x",), 0, True)
    assert (tmp_path / "output.log").read_text() == "earlier"


@examples(30)
@given(st.data())
def test_excerpts_do_not_depend_on_chunks(data: st.DataObject) -> None:
    pieces = [b"a\n", b"10%\r", b"\r\n", b"\n", b"z" * 300, b"end ", b"\r"]
    raw = b"".join(data.draw(st.lists(st.sampled_from(pieces), max_size=12)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    whole, parts = (LogExcerpt(str) for _ in range(2))
    whole.feed(raw)
    for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        parts.feed(raw[start:end])
    one, other = whole.output(None), parts.output(None)
    assert (one.tail, one.lines, one.bytes) == (other.tail, other.lines, other.bytes)
