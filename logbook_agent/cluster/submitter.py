"""Jobs of a launcher that submits a command and is asked for its end: no worker of ours runs there.

What a worker would have found is taken from the launcher: the state of the job, its exit code and duration, and its
log, in which the rows stand. Facts of the machine it ran on stay unknown.

A job gets a name that nobody else has, and the name is on disk before anything is submitted. So a submission whose
answer was lost is found again by its name, and never sent twice.
"""

from __future__ import annotations

import functools
import shlex
import time
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from logbook_agent.cluster.job_launcher import (
    GONE,
    JobLauncher,
    checked,
    end_of,
    hidden_values,
    keep_log,
    without_values,
)
from logbook_agent.cluster.job_templates import Fate, JobTemplates, completed, filled, iris
from logbook_agent.cluster.questions import brief
from logbook_agent.cluster.sent_code import code_here
from logbook_agent.model.errors import StoreError, ToolError, UsageError
from logbook_agent.model.worker_report import OVER, Began, Host, Problem, Stage, noted, withheld
from logbook_agent.running.executors.contract import Executor, LogGrows, Submission, for_each, troubles_of
from logbook_agent.running.executors.table import Declared
from logbook_agent.running.prepare import no_timeout
from logbook_agent.running.programs import run_program
from logbook_agent.running.provenance.machine import MachineFacts
from logbook_agent.running.worker.work import Work, read_work, unsealed, values_of, write_work
from logbook_agent.store.run_files import ERRORS, FINAL, HEARTBEAT, LOG, SEEN, SENT
from logbook_agent.store.spool import Heartbeat, Seen, Sent, Spool
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.commands import launchers
from logbook_agent.text.commands.launchers import Found, Launched, Launcher, wrap
from logbook_agent.text.phrases import stamp
from logbook_agent.text.redaction.redactor import Redactor
from logbook_agent.text.shell_words import split_env_words

# A submission without an answer may still be on its way for so long.
_SETTLE_S = 300.0
# A job is asked about after this, and no more often than this part of its age.
_FIRST_S, _PER_AGE = 1.0, 20.0
# A log that grows for so many times as long as logs may lag is not waited for.
_MOST_LAGS = 10
_STAGES: dict[Fate, Stage] = {
    "waiting": "sent",
    "running": "running",
    "succeeded": "ended",
    "failed": "ended",
    "killed": "ended",
    "lost": "lost",
    "never-started": "never-started",
}


class Submitter(Executor):
    """Starts jobs by the templates of the settings, with the variables of `environ`. `place` is the executor's name."""

    place: str

    def __init__(self, templates: JobTemplates, *, place: str, environ: Mapping[str, str]) -> None:
        self._given, self.place, self._environ = templates, place, environ
        self.pace_s = templates.poll_s

    # -- the contract --------------------------------------------------------------------------------

    def hello(self) -> MachineFacts:
        """As `Executor.hello`: nothing is known of the machines behind a launcher. Raises ToolError when it does not
        answer."""
        if self._given.find:
            own, words = split_env_words(filled(self._given.find, name="hello"))
            checked(run_program(words, {**self._environ, **own}, timeout_s=self._given.timeout_s), self.place)
        return MachineFacts()

    def start(self, items: Sequence[Submission], at_most: int) -> None:
        """As `Executor.start`; an answer that was lost is no error: `look` finds the job by its name."""
        for item in items:
            if not (item.spool.has(FINAL) or item.spool.has(SENT)):
                self._start(item.spool, item.work, item.secrets)

    def _start(self, spool: Spool, work: Work, secrets: Mapping[str, str]) -> None:
        if (limit_s := work.timeout_s or work.stall_s) is not None:
            raise no_timeout(ToolError, self.place, limit_s)
        write_work(work, spool.files)
        whole = unsealed(work, {**self._environ, **secrets})
        values = hidden_values(spool.folder.name, values_of(whole, {}).secrets)
        sent = structs.replace(self._sent(work), values=values)
        launcher = self._launcher(whole)
        if sent.is_typed and launcher.find(sent) is not None:
            raise ToolError(
                f"a job named {sent.name} already exists",
                cause="the output of the two could not be told apart",
                hint="choose another --job-name, or leave it out",
            )
        # What is known before the job starts: the code, where it is sent along, and nothing of the machine.
        code, problems = code_here(work, spool, self._environ) if self._given.syncs else (None, ())
        spool.put(sent)
        spool.put(Began(started=_now(), host=Host(), code=code, problems=noted(*problems)))
        if (job := launcher.submit(sent)) is not None:
            spool.put(structs.replace(sent, job=job))

    def look(self, spools: Sequence[Spool], *, wait_s: float = 0.0, with_log: bool = False) -> Mapping[Path, str]:
        """As `Executor.look`. The launcher is asked every `poll_s` seconds, about one job at a time."""
        return troubles_of(lambda spool: self._look(spool, with_log=with_log), spools)

    def stop(self, spools: Sequence[Spool]) -> None:
        """As `Executor.stop`."""

        def stop(spool: Spool) -> None:
            if (sent := spool.get(Sent)) is not None and not spool.has(FINAL):
                self._launcher(read_work(spool.files)).stop(sent)

        for_each(stop, spools)

    def collect(self, spool: Spool) -> None:
        """As `Executor.collect`. Raises ToolError while the launcher does not give the log and the end of the job."""
        sent = spool.get(Sent)
        if sent is None or sent.job is None or spool.has(FINAL):
            return
        launcher = self._launcher(read_work(spool.files))
        job = launcher.state(sent.job)
        if _STAGES[job.fate] not in OVER:
            raise ToolError(f"{sent.job} runs again: {job.said}", cause=f"{self.place} had reported its end")
        is_ended = _STAGES[job.fate] == "ended"
        problems: list[Problem] = []
        if is_ended or (job.fate == "lost" and job.state != GONE):
            problems = self._bring_log(spool, launcher, sent)
        if is_ended:
            problems += self._wait_for_log(spool, launcher.templates.log_lag_s)
            spool.put(end_of(spool, launcher.work, job, problems))
        else:
            spool.files.write(ERRORS, f"{sent.job}: {job.said}\n".encode())

    def launched(self, argv: Sequence[str], env: Mapping[str, str], redactor: Redactor) -> Launched:
        """As `Launches.launched`: the submission without the name of the job, which differs from run to run. Raises
        UsageError, too, where a secret would be handed to the launcher."""
        own, argv = split_env_words(argv)
        env = {**env, **own}
        self._check_secrets(argv, env, redactor)
        words = [word for word in self._given.submit if "{name}" not in word]
        template = Launcher(name=self.place, template=shlex.join(words), env_template=shlex.join(self._given.env))
        return structs.replace(wrap(template, argv, env), submits=True, syncs=self._given.syncs)

    def _check_secrets(self, argv: Sequence[str], env: Mapping[str, str], redactor: Redactor) -> None:
        allowed = self._given.secrets
        hidden = [key for key, value in env.items() if redactor.named(key, value) != value and key not in allowed]
        if hidden:
            raise UsageError(
                f"{hidden[0]} holds a secret, and executor {self.place!r} would pass it to its launcher",
                cause="launchers store what they are given, and others may read it",
                hint=f'set it where the command runs, or allow it in your settings: secrets = ["{hidden[0]}"]',
            )
        if redactor.argv(argv) != tuple(argv):
            raise UsageError(
                "the command holds a secret",
                cause=f"executor {self.place!r} would pass it to its launcher, where others may read it",
                hint="pass it in an environment variable that is set where the command runs",
            )

    # -- a job -----------------------------------------------------------------------------------------

    def _launcher(self, work: Work) -> JobLauncher:
        return JobLauncher(templates=self._given, place=self.place, work=work, environ=self._environ)

    def _sent(self, work: Work) -> Sent:
        name = f"{work.entry}-{work.run:02d}-{uuid.uuid4().hex[:8]}".lower()
        return Sent(name=name, at=time.time())

    def _look(self, spool: Spool, *, with_log: bool) -> None:
        """Ask for the stage of a job and keep it. Raises LogbookError."""
        sent, seen = spool.get(Sent), spool.get(Seen)
        is_over = spool.has(FINAL) or (seen is not None and seen.stage in OVER)
        if sent is None or is_over or self._is_fresh(spool, sent):
            return
        launcher = self._launcher(read_work(spool.files))
        if sent.job is None:
            sent = structs.replace(sent, job=launcher.find(sent))
            if sent.job is None:
                self._miss(spool, sent)
                return
            spool.put(sent)
        found = launcher.state(sent.job)
        stage = _STAGES[found.fate]
        if with_log and stage in ("running", "ended"):
            self._bring_log(spool, launcher, sent)
        size = (spool.folder / LOG).stat().st_size if spool.has(LOG) else 0
        spool.put(Heartbeat(at=_now(), bytes=size))
        spool.put(Seen(stage=stage, said=brief(found.said) if stage == "sent" else None))

    def _is_fresh(self, spool: Spool, sent: Sent) -> bool:
        """Whether the launcher was asked a moment ago: a job that has just been submitted is asked about sooner."""
        now = time.time()
        pause_s = min(self.pace_s, max(_FIRST_S, (now - sent.at) / _PER_AGE))
        return spool.has(HEARTBEAT) and 0 <= now - (spool.folder / HEARTBEAT).stat().st_mtime < pause_s

    def _miss(self, spool: Spool, sent: Sent) -> None:
        """Keep the stage of a submission that no job is known of, once it should have arrived."""
        if spool.is_held() or abs(time.time() - sent.at) < _SETTLE_S:
            return
        why = f"no job {sent.name} appeared" if self._given.find else "the launcher did not print the ID of the job"
        spool.files.write(ERRORS, f"{why}\n".encode())
        spool.put(Seen(stage="never-started" if self._given.find else "lost"))

    def _wait_for_log(self, spool: Spool, lag_s: float) -> Sequence[Problem]:
        """What is wrong with the end of the log of a job that has ended. Raises LogGrows where more of it may come
        soon: logs reach a launcher later than states do."""
        changed = [(spool.folder / name).stat().st_mtime for name in (SEEN, LOG) if spool.has(name)]
        now = time.time()
        if not changed or not 0 <= now - max(changed) < lag_s:
            return ()
        if now - changed[0] > _MOST_LAGS * lag_s:
            return withheld("the end of the log is missing: it still grew long after the end of the job")
        raise LogGrows("waiting for the end of the log", cause=f"{self.place} reported the end of the job just now")

    def _bring_log(self, spool: Spool, launcher: JobLauncher, sent: Sent) -> list[Problem]:
        """Bring the log of a job up to date, redacted; what is wrong with it. Raises ToolError."""
        hide = functools.partial(without_values, spool.folder.name, sent.values)
        return keep_log(spool, launcher.work, launcher.log(sent), launcher.templates, hide)


class Typed(Submitter):
    """Submissions to Iris that were typed: `uv run iris --cluster=NAME job run --no-wait ... -- CMD`. The job is asked
    about with the words before `job`."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__(iris(("iris",)), place="iris", environ=environ)

    def _launcher(self, work: Work) -> JobLauncher:
        line = _line(work)
        options = line.base + len(("job", "run"))
        name = () if line.job is not None else ("--job-name={name}",)
        return JobLauncher(
            templates=iris((work.executable, *work.argv[1 : line.base])),
            place=self.place,
            work=work,
            environ=self._environ,
            typed=((work.executable, *work.argv[1:options]), name, work.argv[options:]),
        )

    def _sent(self, work: Work) -> Sent:
        line = _line(work)
        if any(place in work.hidden for place in ("executable", *(f"argv.{n}" for n in range(line.base)))):
            raise ToolError(
                "logbook could not ask for the state of this job later",
                cause="the words before `job run` hold a secret, and secrets are never stored",
                hint="pass it to iris in an environment variable",
            )
        sent = super()._sent(work)
        return structs.replace(sent, name=line.job or sent.name, is_typed=line.job is not None)


def _line(work: Work) -> Found:
    line = launchers.iris(work.argv)
    if line is None:
        raise StoreError(f"{work.entry} run {work.run} is not a submission to Iris", cause="its spool was changed")
    return line


def typed(workspace: Workspace, declared: Declared) -> Typed:
    """The executor of typed submissions, which needs no settings."""
    return Typed(workspace.environ)


def submitter(workspace: Workspace, declared: Declared) -> Submitter:
    """The executor of these settings. Raises UsageError where they do not fit."""
    templates = completed(declared.name, declared.read(JobTemplates), declared.table)
    return Submitter(templates, place=declared.name, environ=workspace.environ)


def _now() -> str:
    return stamp(datetime.now(UTC))
