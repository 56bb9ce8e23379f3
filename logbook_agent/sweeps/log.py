"""What the runs of a sweep printed, as one file beside its rows."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from logbook_agent.model.errors import StoreError
from logbook_agent.model.run import Run
from logbook_agent.model.values import canonical
from logbook_agent.store.book import Book
from logbook_agent.store.files import pieces_of, write_pieces
from logbook_agent.sweeps.state import how_ended


def write_log(book: Book, entry_id: str, varied: Sequence[str]) -> Path:
    """The outputs of all runs of an entry in order, each below a line that says which run it is.

    They are copied from the logs of the runs, which hold no secrets any more, a piece at a time.
    """
    path = book.sweep_log(entry_id)
    write_pieces(path, _pieces(book, entry_id, varied), within=book.root, durable=False)
    return path


def _pieces(book: Book, entry_id: str, varied: Sequence[str]) -> Iterator[bytes]:
    for run in book.runs(entry_id):
        yield f"{heading(run, varied)}\n".encode("utf-8", "replace")
        end = b"\n"
        try:
            for piece in pieces_of(book.log_path(entry_id, run.run), within=book.root):
                end = piece[-1:]
                yield piece
        except (StoreError, OSError) as error:
            yield f"[logbook] the log of this run cannot be read: {_why(error)}\n".encode()
        if end != b"\n":
            yield b"\n"


def _why(error: StoreError | OSError) -> str:
    cause = error.__cause__ if isinstance(error, StoreError) else error
    return (cause.strerror if isinstance(cause, OSError) else None) or str(error)


def heading(run: Run, varied: Sequence[str]) -> str:
    """`===== run 4 [setup]: topk=2 quant_mode=int8 repeat 2: bench --topk 2: exit code 0`."""
    label = f" [{run.label}]" if run.label is not None else ""
    case = [f"{key}={canonical(run.config[key])}" for key in varied if key in run.config]
    case += [f"repeat {run.repeat}"] if run.repeat is not None else []
    command = run.argv[0] if run.shell else shlex.join(run.argv)
    parts = [
        f"===== run {run.run}{label}",
        " ".join(case),
        " ".join(command.splitlines()),
        how_ended(run.exit) if run.exit is not None else "not ended",
    ]
    return ": ".join(part for part in parts if part)
