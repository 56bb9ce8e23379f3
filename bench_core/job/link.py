"""What a process of a job tells the one that started it: a line of JSON each. No JAX."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from bench_core.errors import UsageError
from bench_core.harness.record import Row, to_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a process is in its job. `local_devices` are the virtual ones that it makes; None: it has those of its
    host."""

    process: int
    processes: int
    coordinator: str
    local_devices: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a process is started with, on its standard input: a command and what its flags were given.

    Cases before the one with the index `first` are left out. `messages` is the descriptor for its messages.
    """

    place: Place
    command: str
    given: Mapping[str, Any]
    first: int
    messages: int

    def as_line(self) -> bytes:
        given = {name: value if _is_plain(value) else str(value) for name, value in self.given.items()}
        return (to_json({**asdict(self), "given": given}) + "\n").encode()

    @classmethod
    def of_line(cls, line: bytes) -> "Task":
        document = json.loads(line)
        return cls(**{**document, "place": Place(**document["place"])})


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool | list)


class Link:
    """A process's end of the line."""

    def __init__(self, messages: int) -> None:
        self._messages = messages

    def _send(self, kind: str, **content: object) -> None:
        line = (to_json({"kind": kind, **content}) + "\n").encode()
        while line:
            line = line[os.write(self._messages, line) :]

    def joined(self) -> None:
        self._send("joined")

    def progress(self, text: str) -> None:
        self._send("progress", text=text)

    def begun(self, index: int, row: Row) -> None:
        """A case begins; `row` is what is known of it without a result."""
        self._send("begun", index=index, document=row.as_json())

    def ended(self, index: int, row: Row) -> None:
        self._send("ended", index=index, lines=row.lines(), document=row.as_json())

    def refused(self, error: UsageError) -> None:
        """The request is wrong, as only a process with devices can tell."""
        self._send("refused", message=error.message, cause=error.cause, hint=error.hint)

    def gave_up(self, reason: str, message: str) -> None:
        """This process cannot go on, and the others may not know."""
        self._send("gave_up", reason=reason, message=message)

    def done(self) -> None:
        self._send("done")
