"""Runs programs on the machine that an executor speaks to: this one, or another behind `ssh`."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.running.executors.contract import NoAnswer
from logbook_agent.running.programs import TooMuchOutput, collect, find_program, kill_group

# A word that begins so lies in the home of whoever runs the program there.
HOME = "~/"
# Of what an engine says, so much is kept; of a program, so much of its last line.
_KEPT_CHARS, _SAID_CHARS = 500, 300
# Of what a program answers, no more is taken.
MOST_ANSWER_BYTES = 32 * 2**20
_ERROR_BYTES = 1 << 16
# A program that has begun to answer pauses no longer than this.
_STALL_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellAnswer:
    """How a program ended: its exit code, and what it printed."""

    code: int
    out: bytes = b""
    err: str = ""

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "replace")

    @property
    def said(self) -> str:
        """The last line of its errors, else its exit code."""
        lines = self.err.strip().splitlines()
        return lines[-1].strip()[:_SAID_CHARS] if lines else f"exit code {self.code}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """Runs programs on this machine. Where `host` names another one, as the settings do, a subclass knows the way."""

    host: str | None = None
    environ: Mapping[str, str]

    def words(self, argv: Sequence[str]) -> list[str]:
        """The words by which a program there is started here; one that begins with `~/` lies in the home there. Raises
        ToolError."""
        home = self.environ.get("HOME", "/")
        return [f"{home}/{word[len(HOME) :]}" if word.startswith(HOME) else word for word in argv]

    def checked(self, answer: ShellAnswer) -> ShellAnswer:
        """The answer of a program. Raises Unavailable when the machine cannot be reached, NoAnswer when the connection
        was lost."""
        return answer

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60.0) -> ShellAnswer:
        """Run a program to its end. Raises as `checked` and `run_program` do."""
        return self.checked(
            run_program(self.words(argv), self.environ, stdin=stdin, timeout_s=timeout_s, host=self.host)
        )


def run_program(
    argv: Sequence[str],
    environ: Mapping[str, str],
    *,
    stdin: bytes = b"",
    timeout_s: float,
    cwd: str | None = None,
    host: str | None = None,
    most_bytes: int = MOST_ANSWER_BYTES,
) -> ShellAnswer:
    """Run a program of this machine to its end; one without a folder is looked for in absolute folders of PATH alone.
    Raises NoAnswer when it takes too long, pauses for long or prints too much; it is ended then, with what it started.
    `host`: the machine that it speaks to, for errors."""
    program = argv[0] if "/" in argv[0] else find_program(argv[0], environ)
    if program is None:
        return ShellAnswer(code=127, err=f"{argv[0]}: not found")
    # What it starts in the background may hold its stderr open for long: a file ends with nobody.
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        try:
            process = subprocess.Popen(
                [program, *argv[1:]],
                env=environ,
                cwd=cwd,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=errors,
                process_group=0,
            )
        except OSError as error:
            code = 127 if isinstance(error, FileNotFoundError) else 126
            return ShellAnswer(code=code, err=f"{argv[0]}: {error.strerror or error}")
        name = Path(argv[0]).name if host is None else host
        try:
            out = collect(process, timeout_s=timeout_s, most_bytes=most_bytes, stall_s=_STALL_S).out
        except subprocess.TimeoutExpired as error:
            raise NoAnswer(
                f"{name} did not answer within {error.timeout:g} s", cause="the answer is incomplete"
            ) from None
        except TooMuchOutput:
            raise NoAnswer(
                f"{name} answered with more than {most_bytes >> 20} MiB", cause="logbook expects a shorter answer"
            ) from None
        finally:
            kill_group(process)
        # Whoever writes there goes on undisturbed.
        said = os.pread(errors.fileno(), _ERROR_BYTES, 0).decode("utf-8", "replace")
        return ShellAnswer(code=process.returncode, out=out, err=said)


def as_text(argv: Sequence[str]) -> str:
    """The words as a shell there reads them."""
    return " ".join(
        f'"$HOME"/{shlex.quote(word[len(HOME) :])}' if word.startswith(HOME) else shlex.quote(word) for word in argv
    )


def brief(said: str) -> str:
    """What an engine says, on one line and no longer than is kept. No word is cut: half a secret is not known as
    one."""
    return textwrap.shorten(said, _KEPT_CHARS, placeholder=" …")
