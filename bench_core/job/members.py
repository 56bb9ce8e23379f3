"""The processes of a job as the one that starts them sees them."""

import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench_core.job.link import Place, Task

_LAST_LINES = 12


@dataclass(slots=True, kw_only=True)
class Member:
    """A process that was started. `said` has its messages about itself, by kind. What it prints lies in `log`."""

    place: Place
    process: "subprocess.Popen[bytes]"
    messages: int
    log: Path
    said: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    unread: bytes = b""
    closed: bool = False

    def runs(self) -> bool:
        return self.process.poll() is None

    def is_lost(self) -> bool:
        """It has ended, or is about to, without having done everything."""
        return "gave_up" in self.said or (not self.runs() and "done" not in self.said)

    def rank(self) -> tuple[int, int]:
        """The lower, the more likely the others failed because of it. The runtime aborts a process whose peer is
        gone, so an abort comes last."""
        code = self.process.poll()
        if code is not None and code < 0 and -code != signal.SIGABRT:
            return 0, self.place.process
        if "gave_up" not in self.said and (code is None or -code != signal.SIGABRT):
            return 1, self.place.process
        return 2 if "gave_up" in self.said else 3, self.place.process

    def fate(self) -> str:
        """How it ended, in words."""
        code = self.process.poll()
        if code is None:
            return "did not end"
        if code >= 0:
            return f"ended with exit code {code}"
        try:
            return f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"

    def last_words(self) -> str:
        """The end of what it printed, without the notes on connections of JAX's transport."""
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        lines = [line[:400] for line in text.splitlines() if not line.startswith("[Gloo] Rank")]
        return "\n".join(lines[-_LAST_LINES:])

    def end(self) -> None:
        """Kill it where it still runs, and let go of what belongs to it."""
        if self.runs():
            self.process.kill()
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()
        os.close(self.messages)


def start(task: Task, log: Path, environ: Mapping[str, str]) -> Member:
    """Start the process of `task`. It lives as long as its standard input is open, so that it cannot outlive this
    process."""
    reading, writing = os.pipe()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "bench_core.cli.member"],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=(writing,),
            env=dict(environ),
        )
    os.close(writing)
    assert process.stdin is not None  # noqa: S101  asked for above
    process.stdin.write(replace(task, messages=writing).as_line())
    process.stdin.flush()
    return Member(place=task.place, process=process, messages=reading, log=log)


def watch(members: Sequence[Member], wait_s: float) -> Iterator[tuple[Member, Mapping[str, Any]]]:
    """The messages that are there, after waiting for one so long at most."""
    with selectors.DefaultSelector() as selector:
        for member in members:
            if not member.closed:
                selector.register(member.messages, selectors.EVENT_READ, member)
        while selector.get_map():
            ready = selector.select(wait_s)
            if not ready:
                return
            wait_s = 0
            for key, _ in ready:
                member = key.data
                data = os.read(member.messages, 2**16)
                if not data:
                    member.closed = True
                    selector.unregister(member.messages)
                *lines, member.unread = (member.unread + data).split(b"\n")
                yield from ((member, json.loads(line)) for line in lines)
    if wait_s:
        # Nobody can say anything any more: they are about to end.
        _pause(wait_s)


def _pause(seconds: float) -> None:
    with selectors.DefaultSelector() as nothing:
        nothing.select(seconds)
