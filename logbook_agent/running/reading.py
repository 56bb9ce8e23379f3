"""What a run printed and measured, read from the files that it left, when it is taken in."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct, structs

from logbook_agent.features import hook_module
from logbook_agent.model.errors import StoreError
from logbook_agent.model.gates import gates_of
from logbook_agent.model.header import Header
from logbook_agent.model.run import Curve, Row, Run
from logbook_agent.model.worker_report import Artifact, End, Exit, Output, Problem, noted
from logbook_agent.running.launch.output_log import LogExcerpt
from logbook_agent.running.results.classifier import KnownKeys, PointSink
from logbook_agent.running.results.reader import ResultReader
from logbook_agent.running.results.result_lines import LineSplitter
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.store.run_files import LOG, READ, RESULT, SAFE_LOG
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import stamp
from logbook_agent.text.redaction.plain import redacted
from logbook_agent.text.redaction.redactor import Redactor
from logbook_agent.text.redaction.stream import StreamRedactor, redacted_pieces

_RESULT_FILE_BYTES = 64 * 1024 * 1024


class RunResults(Struct, frozen=True, kw_only=True):
    """The rows and curves of a run, what it printed and the files that are kept, whether it named such, and what is
    wrong with them.
    `written`: when its log was last written; None where there is none."""

    rows: tuple[Row, ...] = ()
    curves: tuple[Curve, ...] = ()
    output: Output | None = None
    artifacts: tuple[Artifact, ...] = ()
    names_files: bool = False
    problems: tuple[Problem, ...] = ()
    written: str | None = None


def read_run(workspace: Workspace, book: Book, run: Run, end: End | None = None) -> RunResults:
    """What a run has left; `end` is what its worker says. The points of its curves are written beside its log."""
    work = book.spool(run).files
    # A log that is beside the record already was read before, by a command that was cut off.
    log = work if work.has(LOG) else book.files.below(book.run_folder(run.entry, run.run))
    header = structs.replace(book.header, gates=(*book.header.gates, *book.entry(run.entry).gates))
    return read_left(run, header, workspace.redactor, log, work, end)


def ended(run: Run, end: End, found: RunResults) -> Run:
    """The record of a run with its end, and with what it measured."""
    return structs.replace(
        run,
        ended=end.ended,
        duration_s=end.duration_s,
        exit=end.exit,
        peak_memory_bytes=end.peak_memory_bytes,
        contention=end.contention or run.contention,
        output=end.output and found.output,
        artifacts=found.artifacts,
        rows=found.rows,
        curves=found.curves,
        problems=tuple(dict.fromkeys((*run.problems, *end.problems, *found.problems))),
    )


def cut_off(run: Run, exit: Exit, why: str, found: RunResults) -> Run:
    """The record of a run whose end nobody saw, with what its log holds. `why` becomes a problem of the run."""
    about = why + (f", last written at {found.written}" if found.written is not None else ", which is missing")
    lost = ("files that the command named were not kept: the run was cut off",) if found.names_files else ()
    return structs.replace(
        run,
        exit=exit,
        output=found.output,
        rows=found.rows,
        curves=found.curves,
        problems=(*run.problems, *noted(about, *lost), *found.problems),
    )


def known_keys(header: Header, run: Run) -> KnownKeys:
    """What is known of the keys of a run's rows."""
    gates = gates_of(header.gates)
    return KnownKeys(declared=header.metrics, axes=header.case_keys, gates=gates, config=run.config, argv=run.argv)


def read_left(
    run: Run, header: Header, redactor: Redactor, log: Folder, work: Folder, end: End | None = None
) -> RunResults:
    """What a run has left: its log in the folder `log`, the other files in `work`. The points of its curves are written
    beside the log."""
    clean = functools.partial(redacted, redactor=redactor)

    def sink() -> PointSink | None:
        points = hook_module("points")
        return points.point_sink(log) if points is not None else None

    reader = ResultReader(clean, known_keys(header, run), sink)
    splitter, excerpt = LineSplitter(), LogExcerpt(redactor.text)
    safe, raw, at, written = StreamRedactor(redactor), hashlib.sha256(), 0, None
    with contextlib.suppress(StoreError, OSError):  # it is missing
        for data in log.pieces(LOG):
            raw.update(data)
            excerpt.feed(safe.feed(data))
            for line in splitter.feed(data if end is None else _whole_lines(data, at, end)):
                reader.feed(line)
            at += len(data)
        excerpt.feed(safe.finish())
        written = stamp(datetime.fromtimestamp(log.check(LOG).stat().st_mtime, UTC))
    if log.path == work.path and excerpt.digest != raw.hexdigest():
        work.write(SAFE_LOG, redacted_pieces(log.pieces(LOG), redactor), durable=False)
    for line in (*splitter.finish(), *(end.unlogged if end is not None else ())):
        reader.feed(line)
    # A program that writes TensorBoard's files may do so there.
    is_folder = (work.path / RESULT).is_dir() and not (work.path / RESULT).is_symlink()
    if is_folder and (points := hook_module("points")) is not None:
        for name, step, value in points.event_points(work.path / RESULT):
            reader.point(name, step, value)
    text, problems = (None, []) if is_folder else _written_results(work)
    if splitter.dropped:
        problems.append(f"{splitter.dropped} lines of output were too long to be read for results")
    stated: Sequence[Row] = ()
    unread: Sequence[Problem] = ()
    if end is not None and end.read is not None:
        stated, unread = hook_module("reads").rows_of(run, end.read, work.below(READ), clean)
    artifacts, not_kept = _kept(end, work, redactor) if end is not None and end.artifacts else ((), ())
    is_good = end is not None and end.exit.code == 0
    found = reader.finish(file_text=text, stated=stated, succeeded=is_good)
    counted = end.output if end is not None else None
    return RunResults(
        rows=found.rows,
        curves=found.curves,
        output=excerpt.output(counted) if written is not None else counted,
        artifacts=artifacts,
        names_files=bool(reader.artifacts),
        problems=(*noted(*problems, *not_kept), *unread, *found.problems),
        written=written,
    )


def _kept(end: End, work: Folder, redactor: Redactor) -> tuple[tuple[Artifact, ...], tuple[str, ...]]:
    """The files that the command left, as the record has them, and problems."""
    if (collecting := hook_module("collects")) is None:
        return (), ("no file was kept: the feature 'artifacts' is missing",)
    return collecting.kept(end.artifacts, work, redactor)  # type: ignore[no-any-return]


def _whole_lines(data: bytes, at: int, end: End) -> bytes:
    """What stands at this byte of the log, up to where it ends within a line; one of one stream ends where the other
    broke it off."""
    if end.whole_bytes is not None:
        data = data[: max(0, end.whole_bytes - at)]
    breaks = [place - at for place in end.breaks if at <= place < at + len(data)]
    return b"\n".join(data[a:b] for a, b in itertools.pairwise((0, *breaks, len(data))))


def _written_results(files: Folder) -> tuple[str | None, list[str]]:
    """What the command wrote to $LOGBOOK_RESULT_FILE, as far as it is a file of a size to read."""
    if not files.has(RESULT):
        return None, []
    try:
        data = files.read(RESULT, limit=_RESULT_FILE_BYTES)
    except StoreError as error:
        return None, [f"$LOGBOOK_RESULT_FILE: {error.message}"]
    return data.decode("utf-8-sig", "replace"), []
