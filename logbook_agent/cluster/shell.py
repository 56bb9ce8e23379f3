"""Runs programs on the machine that an executor speaks to: this one, or another behind `ssh`."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from logbook_agent.running.programs import ProgramAnswer, run_program

# A word that begins so lies in the home of whoever runs the program there.
HOME = "~/"
# Of what an engine says, so much is kept.
_KEPT_CHARS = 500


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

    def checked(self, answer: ProgramAnswer) -> ProgramAnswer:
        """The answer of a program. Raises Unavailable when the machine cannot be reached, NoAnswer when the connection
        was lost."""
        return answer

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60.0) -> ProgramAnswer:
        """Run a program to its end. Raises as `checked` and `run_program` do."""
        return self.checked(
            run_program(self.words(argv), self.environ, stdin=stdin, timeout_s=timeout_s, name=self.host)
        )


def as_text(argv: Sequence[str]) -> str:
    """The words as a shell there reads them."""
    return " ".join(
        f'"$HOME"/{shlex.quote(word[len(HOME) :])}' if word.startswith(HOME) else shlex.quote(word) for word in argv
    )


def brief(said: str) -> str:
    """What an engine says, on one line and no longer than is kept. No word is cut: half a secret is not known as
    one."""
    return textwrap.shorten(said, _KEPT_CHARS, placeholder=" …")
