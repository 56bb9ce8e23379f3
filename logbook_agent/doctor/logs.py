"""Logs: those that are not here, and those that are not what was written."""

from __future__ import annotations

import os
from collections.abc import Iterator

from logbook_agent.doctor.finding import Examination, Finding
from logbook_agent.model.errors import StoreError


def check_logs(examination: Examination) -> Iterator[Finding]:
    """A missing log is nothing wrong: they stay on the machine that ran the experiment, and `prune` deletes
    them. One of another size than the record says was changed."""
    book = examination.book
    missing = 0
    for entry_id in book.entry_ids():
        try:
            runs = book.runs(entry_id)
        except StoreError:
            continue  # another check tells
        for run in runs:
            if run.output is None or not run.output.log_bytes:
                continue
            try:
                size = os.lstat(f"{book.runs_folder}/{entry_id}/{run.run:02d}/output.log").st_size
            except OSError:
                missing += 1
                continue
            if size != run.output.log_bytes:
                yield Finding(
                    check="log",
                    severity="warning",
                    message=f"the log has {size} bytes; {run.output.log_bytes} were written",
                    mend="it was changed after the run; the excerpt and the rows in run.json are what was seen",
                    path=book.log_path(entry_id, run.run),
                )
    if missing:
        yield Finding(
            check="missing-logs",
            severity="note",
            message=f"{missing} {'logs are' if missing > 1 else 'log is'} not here: on another machine, or pruned",
        )
