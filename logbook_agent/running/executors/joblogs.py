"""The log of a job, put together from what its launcher gave at several times, and the end that is read from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from logbook_agent.model.run import Exit
from logbook_agent.model.work import End
from logbook_agent.running.executors.jobstate import JobState
from logbook_agent.running.executors.templates import JobTemplates
from logbook_agent.running.recover import read_log
from logbook_agent.running.worker.work import Work
from logbook_agent.store.files import write_atomic
from logbook_agent.store.reading import LOG, read_bytes
from logbook_agent.store.spool import Spool
from logbook_agent.text.commands.flags import flags
from logbook_agent.text.times import stamp

_LOG_BYTES = 2**31
_CAP = b"\n[logbook] the log ends here: it reached its size limit\n"
_CUT = "the log was cut off at its size limit"
GAP = b"[logbook] lines are missing here: the launcher had dropped them\n"


def cleaned(raw: bytes, line: str) -> list[bytes]:
    """The lines of a job, each with its end, without what the launcher puts before them (the pattern `line`)."""
    ends = lines_of(raw)
    if not line:
        return ends
    before = re.compile(line.encode())
    return [one[match.end() :] if (match := before.match(one)) is not None else one for one in ends]


def lines_of(data: bytes) -> list[bytes]:
    """Its lines, each with its end; only a line feed ends one."""
    *whole, rest = data.split(b"\n")
    return [one + b"\n" for one in [*whole, *([rest] if rest else [])]]


def merged(before: list[bytes], now: list[bytes]) -> list[bytes]:
    """Earlier lines with later ones, and a mark where some are missing. A launcher may give them all again, or only the
    last; each is kept once."""
    if not before or not now:
        return before or now
    if now[: len(before)] == before:
        return now
    for place, line in enumerate(before):
        if line != now[0]:
            continue
        both = min(len(before) - place, len(now))
        if before[place : place + both] == now[:both]:
            return [*before, *now[both:]]
    return [*before, GAP, *now]


def keep_log(spool: Spool, work: Work, raw: bytes, templates: JobTemplates, hide: Callable[[str], str]) -> list[str]:
    """Add what a launcher gave to the log in the spool, redacted; what is wrong with it. `hide` takes out the secrets
    that were handed over."""
    lines = cleaned(raw, templates.line)
    problems = []
    if templates.log_lines is not None and len(lines) >= templates.log_lines:
        problems.append(f"the log holds only the last {len(lines)} lines: the launcher returns no more")
    text = spool.redactor().text(hide(b"".join(lines).decode("utf-8", "surrogateescape")))
    now = lines_of(text.encode("utf-8", "surrogateescape"))
    path = spool.folder / LOG
    before = read_bytes(path, within=spool.within, limit=_LOG_BYTES) if spool.has(LOG) else b""
    if before.endswith(_CAP):
        return [*problems, _CUT]
    whole = merged(lines_of(before), now)
    if GAP in whole:
        problems.append("lines of the log are missing: the launcher had dropped them")
    data = b"".join(whole)
    if len(data) > work.log_bytes:
        data = data[: work.log_bytes].rpartition(b"\n")[0] + _CAP
        problems.append(_CUT)
    write_atomic(path, data, within=spool.within, durable=False)
    return problems


def end_of(spool: Spool, work: Work, job: JobState, problems: Sequence[str]) -> End:
    """The end of a job as its launcher tells it, with the rows of its log. It ended before this moment; when, nobody
    says."""
    reader, output, _ = read_log(spool.folder / LOG, spool.within, spool.redactor())
    reading = reader.finish(declared=work.metrics, axes=work.case_keys, argv_flags=flags(work.argv), config=work.config)
    said = []
    code = job.exit_code
    if job.fate == "failed" and not code:
        code = 1
        said.append(f"the launcher reported no exit code; 1 stands for {job.said}")
    elif job.odd_code:
        said.append(f"the launcher reported an exit code that no job has; {code or 0} stands for {job.said}")
    return End(
        ended=stamp(datetime.now(UTC)),
        duration_s=job.duration_s,
        exit=Exit(code=code or 0, interrupted=job.fate == "killed"),
        peak_memory_bytes=job.peak_memory_bytes,
        output=output,
        rows=reading.rows,
        predictions=reading.predictions,
        problems=(*said, *problems, *reading.problems),
    )
