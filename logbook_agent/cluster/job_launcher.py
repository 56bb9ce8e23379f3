"""A launcher that submits jobs, as it is called for one run: what it is told by its templates, and what it answers."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from logbook_agent.cluster.job_templates import LAST_WORD, JobState, JobTemplates, Words, filled, job_state
from logbook_agent.model.errors import ToolError
from logbook_agent.model.worker_report import End, Exit, Problem, noted, withheld
from logbook_agent.running.launch.output_log import LogExcerpt
from logbook_agent.running.programs import MOST_ANSWER_BYTES, ProgramAnswer, run_program
from logbook_agent.running.worker.left_files import named_files
from logbook_agent.running.worker.work import Work
from logbook_agent.store.run_files import LOG
from logbook_agent.store.spool import HiddenValue, Sent, Spool
from logbook_agent.text.phrases import stamp
from logbook_agent.text.redaction.names import Secret
from logbook_agent.text.shell_words import split_env_words

# The state of a job that its launcher does not know any more.
GONE = "gone"
_MOST_LOG_BYTES = 256 * 2**20
# Whoever only looks waits no longer for an answer.
_LOOK_S = 30.0
# The clocks of two machines, or of one at two times, may differ by so much.
_SLACK_S = 24 * 3600.0


class JobLauncher(Struct, frozen=True, kw_only=True):
    """The launcher of the executor `place`, which is run as the user ran it. `typed`: the submission as it was typed,
    what names the job in it, and what stands behind that."""

    templates: JobTemplates
    place: str
    work: Work
    environ: Mapping[str, str]
    typed: tuple[Words, Words, Words] | None = None

    def submit(self, sent: Sent) -> str | None:
        """Submit the job; its ID, or None if it is unknown whether there is one. Raises ToolError if there is none."""
        answer, job = None, None
        try:
            answer = self._run(self._named(sent))
            if answer.code == 0:
                printed = (answer.text, "" if self.templates.id == LAST_WORD else answer.err)
                job = next(filter(None, (_job_in(self.templates.id, text) for text in printed)), None)
            job = job or self.find(sent)
        except ToolError:
            return None
        if job is None and answer.code != 0:
            raise ToolError(f"{self.place} did not accept the job", cause=answer.said)
        return job

    def _named(self, sent: Sent) -> list[str]:
        """The submission with the name of its job."""
        if self.typed is not None:
            before, name, behind = self.typed
            return [*before, *filled(name, name=sent.name), *behind]
        argv = [self.work.executable, *self.work.argv[1:]]
        _, words = split_env_words(self.templates.submit)
        place = next((place for place, word in enumerate(words) if "{name}" in word), len(words))
        return [*argv[:place], *filled(tuple(words[place : place + 1]), name=sent.name), *argv[place:]]

    def find(self, sent: Sent) -> str | None:
        """The job of this name; None where there is none. Raises ToolError when that cannot be asked."""
        if not self.templates.find:
            return None
        answer = checked(self._run(filled(self.templates.find, name=sent.name), most_s=_LOOK_S), self.place)
        return _job_in(self.templates.found.replace("{name}", re.escape(sent.name)), answer.text)

    def state(self, job: str) -> JobState:
        """The state of a job. Raises ToolError when the launcher tells none."""
        templates = self.templates
        answer = self._run(filled(templates.state, id=job), most_s=_LOOK_S)
        if answer.code != 0 and templates.gone and re.search(templates.gone, answer.err) is not None:
            return JobState(state=GONE, fate="lost", reason=answer.said)
        found = job_state(checked(answer, self.place).text, templates.facts, templates.states)
        if found is None:
            raise ToolError(f"{self.place} reported no state for {job}", cause="its answer cannot be read")
        return found

    def log(self, sent: Sent) -> bytes:
        """What the launcher gives of the output of a job. Raises ToolError."""
        since = str(round(max(0.0, time.time() - sent.at) + _SLACK_S))
        words = filled(self.templates.logs, id=sent.job or "", since=since)
        return checked(self._run(words, most_bytes=_MOST_LOG_BYTES), self.place).out

    def stop(self, sent: Sent) -> None:
        """End a job. Raises ToolError."""
        job = sent.job or self.find(sent)
        if job is None or not self.templates.stop:
            raise ToolError(
                f"{self.place} cannot stop {sent.name}",
                cause="no job of this name is known yet" if self.templates.stop else "its settings have no `stop`",
            )
        checked(self._run(filled(self.templates.stop, id=job)), self.place)

    def _run(
        self, argv: Sequence[str], *, most_s: float = float("inf"), most_bytes: int = MOST_ANSWER_BYTES
    ) -> ProgramAnswer:
        """Run the launcher as the user did. Raises NoAnswer when it does not come to its end in time."""
        own, words = split_env_words(argv)
        hidden = {place.removeprefix("env.") for place in self.work.hidden}
        env = {name: value for name, value in self.work.env.items() if name not in hidden}
        environ, timeout_s = {**self.environ, **env, **own}, min(most_s, self.templates.timeout_s)
        return run_program(words, environ, timeout_s=timeout_s, cwd=self.work.cwd, most_bytes=most_bytes)


def checked(answer: ProgramAnswer, place: str) -> ProgramAnswer:
    """The answer of a launcher. Raises ToolError where it failed."""
    if answer.code != 0:
        raise ToolError(f"{place} does not answer", cause=answer.said)
    return answer


def _job_in(pattern: str, text: str) -> str | None:
    """The ID of a job in this text; None for a word that a launcher would take for an option."""
    found = re.search(pattern, text)
    return None if found is None or found[1].startswith("-") else found[1] or None


# -- the log of a job ------------------------------------------------------------------------------


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
