"""The command line of the package that PYTHONPATH names, in this process."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from logbook_agent.cli import SUBCOMMANDS, main
from logbook_agent.store import workspace

# Commands as they are typed, and as they were; blanks within words are NUL.
BEFORE = (
    (r"list --tried", "tried"),
    (r"\blist (?=\w)", "search "),
    (r"edit (\S+) --state void --reason", r"void \1 --reason"),
    (r"status --summary ", "summary "),
    (r"render --absorb", "absorb"),
    (r"doctor --prune", "prune"),
)


@dataclass
class Answer:
    """What a command line did: exit code, stdout, stderr."""

    code: int
    out: str
    err: str


def stop_the_clock(clock: Callable[[], datetime]) -> None:
    """From now on `clock` says what time it is."""
    workspace.utc_now = clock
    for name, module in list(sys.modules.items()):
        if name.startswith("logbook_agent") and hasattr(module, "utc_now"):
            module.utc_now = clock  # type: ignore[attr-defined]


def call(*words: str) -> Answer:
    """Type `logbook WORDS`, in the words of this version; what it said, also through its children."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        kept = [os.dup(descriptor) for descriptor in (1, 2)]
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        try:
            code = main(as_it_was(words))
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for descriptor, saved in zip((1, 2), kept, strict=True):
                os.dup2(saved, descriptor)
                os.close(saved)
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode(errors="replace"))
    return Answer(code, *said)


def as_it_was(typed: tuple[str, ...]) -> tuple[str, ...]:
    """A command as a version typed it that still has `search`, `tried` and `void`."""
    if "search" not in {command.name for command in SUBCOMMANDS}:
        return typed
    text = " ".join(word.replace(" ", "\0") for word in typed)
    for now, before in BEFORE:
        text = re.sub(now, before, text)
    return tuple(word.replace("\0", " ") for word in text.split(" "))
