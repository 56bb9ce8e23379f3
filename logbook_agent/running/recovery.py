"""The record of a run whose end nobody saw: what it had printed is read again from its log."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from logbook_agent.model.errors import StoreError
from logbook_agent.model.run import Exit, Output, Run, noted
from logbook_agent.running.launch.output_log import HEAD_LINES, TAIL_LINES, Excerpt, LineCollector
from logbook_agent.running.point_files import point_sink
from logbook_agent.running.results.curve_points import KnownKeys, PointSink
from logbook_agent.running.results.reader import ResultReader
from logbook_agent.running.results.result_lines import LineSplitter
from logbook_agent.running.worker.perform import written_results
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.redaction.plain import redacted
from logbook_agent.text.redaction.redactor import Redactor
from logbook_agent.text.times import stamp

_CHUNK = 2**20


def from_log(workspace: Workspace, book: Book, run: Run, exit: Exit, why: str) -> Run:
    """The record of a run whose end nobody saw, with what its log holds. `why` becomes a problem of the run."""
    log, work = book.log_path(run.entry, run.run), book.spool(run)
    header, folder = book.header, book.run_folder(run.entry, run.run)
    known = KnownKeys(declared=header.metrics, axes=header.case_keys, config=run.config, argv=run.argv)
    reader, output, last = read_log(
        log, book.files, workspace.redactor, known, lambda: point_sink(book.files.below(folder))
    )
    file_text, problems = written_results(work.files)
    reading = reader.finish(file_text=file_text)
    about = why + (f", last written at {last}" if last is not None else ", which is missing")
    lost = ("files that the command named were not kept: the run was cut off",) if reader.artifacts else ()
    return dataclasses.replace(
        run,
        exit=exit,
        output=output,
        rows=reading.rows,
        curves=reading.curves,
        problems=(*run.problems, *noted(about, *lost, *problems), *reading.problems),
    )


def read_log(
    path: Path, files: Folder, redactor: Redactor, known: KnownKeys, make_sink: Callable[[], PointSink | None]
) -> tuple[ResultReader, Output | None, str | None]:
    """What was printed up to the end of the tool, as far as it reached the log. Streams are not told apart."""
    reader = ResultReader(lambda plain: redacted(plain, redactor), known, make_sink)
    splitter, collector = LineSplitter(), LineCollector()
    excerpt = Excerpt(HEAD_LINES, TAIL_LINES, redactor.text)
    digest, size, lines, last = hashlib.sha256(), 0, 0, b""
    try:
        with files.open(path) as log:
            while data := log.read(_CHUNK):
                digest.update(data)
                size += len(data)
                lines += data.count(b"\n")
                last = data[-1:]
                excerpt.add(collector.feed(data, max(HEAD_LINES, TAIL_LINES)))
                for line in splitter.feed(data):
                    reader.feed(line)
            written = datetime.fromtimestamp(os.fstat(log.fileno()).st_mtime, UTC)
    except (StoreError, OSError):
        return reader, None, None
    excerpt.add(collector.finish())
    for line in splitter.finish():
        reader.feed(line)
    output = Output(
        bytes=size,
        lines=lines + (last not in (b"", b"\n")),
        sha256=digest.hexdigest(),
        head=excerpt.head(),
        tail=excerpt.tail(),
        log_bytes=size,
    )
    return reader, output, stamp(written)
