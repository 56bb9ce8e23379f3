"""The log of a job, as its launcher gives it, and the end of the job.

A secret that was handed to a job cannot be written down. A salted digest can, in a folder that only this user may read:
by it a word of a log that is read later, perhaps by a process that does not have the secret, is known for the value.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

from logbook_agent.cluster.job_templates import JobState, JobTemplates
from logbook_agent.model.run import Exit, Problem, noted, withheld
from logbook_agent.model.worker_report import End
from logbook_agent.running.launch.output_log import LogExcerpt
from logbook_agent.running.worker.perform import named_files
from logbook_agent.running.worker.work import Work
from logbook_agent.store.layout import LOG
from logbook_agent.store.spool import HiddenValue, Spool
from logbook_agent.text.redaction.secrets import Secret
from logbook_agent.text.times import stamp

_LOG_BYTES = 2**31
_CAP = b"\n[logbook] the log ends here: it reached its size limit\n"
# What was measured last may be missing.
_CUT = withheld("the log was cut off at its size limit")
GAP = b"[logbook] lines are missing here: the launcher had dropped them\n"


def keep_log(
    spool: Spool, work: Work, raw: bytes, templates: JobTemplates, hide: Callable[[str], str]
) -> list[Problem]:
    """Add what a launcher gave to the log in the spool, redacted, and return what is wrong with it. `hide` takes out
    secrets that were handed over."""
    before, problems = re.compile(templates.line.encode()), list[Problem]()
    now = [one[match.end() :] if (match := before.match(one)) is not None else one for one in lines_of(raw)]
    if templates.log_lines is not None and len(now) >= templates.log_lines:
        problems += noted(f"the log holds only the last {len(now)} lines: the launcher returns no more")
    text = spool.redactor().text(hide(b"".join(now).decode("utf-8", "surrogateescape")))
    path = spool.folder / LOG
    known = spool.files.read(path, limit=_LOG_BYTES) if spool.has(LOG) else b""
    if known.endswith(_CAP):
        return [*problems, *_CUT]
    whole = merged(lines_of(known), lines_of(text.encode("utf-8", "surrogateescape")))
    if GAP in whole:
        problems += noted("lines of the log are missing: the launcher had dropped them")
    data = b"".join(whole)
    if len(data) > work.log_bytes:
        data = data[: work.log_bytes].rpartition(b"\n")[0] + _CAP
        problems += _CUT
    if data != known:
        spool.files.write(path, data, durable=False)
    return problems


def lines_of(data: bytes) -> list[bytes]:
    """Its lines, each with its end; only a line feed ends one."""
    *whole, rest = data.split(b"\n")
    return [one + b"\n" for one in [*whole, *([rest] if rest else [])]]


def merged(before: list[bytes], now: list[bytes]) -> list[bytes]:
    """Earlier lines with later ones, and a mark where some are missing. A launcher may give them all again, or only the
    last; each is kept once."""
    if not before or not now:
        return before or now
    for place, line in enumerate(before):
        both = min(len(before) - place, len(now))
        if line == now[0] and before[place : place + both] == now[:both]:
            return [*before, *now[both:]]
    return [*before, GAP, *now]


def end_of(spool: Spool, work: Work, job: JobState, problems: Sequence[Problem]) -> End:
    """The end of a job as its launcher tells it. It ended before this moment; when, nobody says."""
    said = []
    if work.keep or named_files(spool.files):
        said.append("no file was kept: a launcher that submits returns the log alone")
    code = job.exit_code
    if job.fate == "failed" and not code:
        code = 1
        said.append(f"the launcher reported no exit code; 1 stands for {job.said}")
    excerpt = LogExcerpt(spool.redactor().text)
    for piece in spool.files.pieces(LOG) if spool.has(LOG) else ():
        excerpt.feed(piece)
    return End(
        ended=stamp(datetime.now(UTC)),
        duration_s=job.duration_s,
        exit=Exit(code=code or 0, interrupted=job.fate == "killed"),
        peak_memory_bytes=job.peak_memory_bytes,
        output=excerpt.output(None),
        problems=(*noted(*said), *problems),
    )


# -- secrets that were handed to a job ---------------------------------------------------------------


_IN_WORD, _IN_LINE = r"\S", r"[^\n]"
_DIGEST_CHARS = 32


def hidden_values(salt: str, found: Iterable[Secret]) -> tuple[HiddenValue, ...]:
    """The digests of these secrets."""
    return tuple(
        HiddenValue(
            shown=secret.shown,
            chars=len(secret.value),
            is_word=re.search(r"\s", secret.value) is None,
            digest=_digest(salt, secret.value),
        )
        for secret in found
        if "\n" not in secret.value
    )


def without_values(salt: str, values: Sequence[HiddenValue], text: str) -> str:
    """The text without these values, as far as each begins where a word does."""
    shown = {(value.chars, value.digest): value.shown for value in values}
    # The longest first: a shorter one may be a part of it. Most words of a log are too short to be looked at.
    for chars, is_word in sorted({(value.chars, value.is_word) for value in values}, reverse=True):
        begins = re.compile(rf"(?<![A-Za-z0-9_])(?={_IN_WORD if is_word else _IN_LINE}{{{chars}}})")
        out: list[str] = []
        done = 0
        for begin in begins.finditer(text):
            at = begin.start()
            if at >= done and (name := shown.get((chars, _digest(salt, text[at : at + chars])))) is not None:
                out += [text[done:at], name]
                done = at + chars
        text = "".join([*out, text[done:]])
    return text


def _digest(salt: str, value: str) -> str:
    return hashlib.sha256(f"{salt} {value}".encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
