"""Submits runs to an executor: they are recorded first, and submitted again while it refuses them for a reason that may
pass."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence

from msgspec import structs

from logbook_agent.model.errors import StoreError, ToolError
from logbook_agent.model.run import Run
from logbook_agent.model.worker_report import Exit, Host, noted
from logbook_agent.running.executors.contract import Executor, Submission, Unavailable
from logbook_agent.running.executors.table import executor_named, pool_of
from logbook_agent.running.order import Display, RunPlan, planned_run, reserve, work_of
from logbook_agent.running.programs import NoAnswer
from logbook_agent.running.worker.work import OWN, Work
from logbook_agent.store.book import Book
from logbook_agent.store.spool import Seen, Spool
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.commands.script import command_words
from logbook_agent.text.phrases import duration
from logbook_agent.text.redaction.redactor import Redactor

# Pauses between attempts: the first, and the longest.
FIRST_S, MOST_S = 1.0, 30.0


class Attempts:
    """Runs that are submitted together to the executor of this name, which makes at most `at_most` units of them at a
    time.

    A run that cannot be started is recorded as never started. Even if this process is killed, at most one worker is
    started for each run, and the run's spool tells whether one was.
    """

    def __init__(
        self,
        workspace: Workspace,
        book: Book,
        plans: Sequence[RunPlan],
        name: str,
        *,
        at_most: int = 1,
        patience_s: float = 0.0,
    ) -> None:
        self._book, self._at_most, self._patience_s = book, at_most, patience_s
        self._executor = executor_named(workspace, name)
        # Why they were refused last, and whether a worker may have been started all the same.
        self._error: ToolError | None = None
        self._is_open, self._told = False, ""
        # By the monotonic clock: when refusals end the attempts, and when the next one is due.
        self._until = float("inf")
        self._next, self._pause_s = 0.0, FIRST_S
        with contextlib.ExitStack() as stack:
            found = [_submission(workspace, book, plan, name, self._executor, stack) for plan in plans]
            self._items = [item for item, _ in found]
            self.runs = [book.write_run(run) for _, run in found]
            self._claims = stack.pop_all()

    @property
    def wait_s(self) -> float:
        """Seconds until the next attempt."""
        return max(0.0, self._next - time.monotonic())

    def attempt(self, display: Display | None = None, *, others_run: bool = False) -> bool:
        """Submit the runs. True: they were submitted, or recorded as never started. False: they were refused, and
        `attempt` is to be called again after `wait_s`.

        While `others_run` there, the time limit for retries does not run: when one of these ends, there may be room.
        """
        try:
            self._executor.start(self._items, self._at_most)
        except ToolError as error:
            self._error, self._is_open = error, self._is_open or isinstance(error, NoAnswer)
            now = time.monotonic()
            self._until = float("inf") if others_run else min(self._until, now + self._patience_s)
            if isinstance(error, NoAnswer | Unavailable) and self._patience_s and now < self._until:
                self._next, self._pause_s = now + self._pause_s, min(MOST_S, self._pause_s * 2)
                self._tell_waiting(error, display)
                return False
        else:
            self._error = None
        self.give_up()
        return True

    def give_up(self) -> None:
        """Stop retrying: record refused runs as never started, unless a worker may have been started all the same."""
        if self._error is not None and not self._is_open:
            together = zip(self._items, self.runs, strict=True)
            self.runs = [self._never_started(item.spool, run, self._error) for item, run in together]
        self._claims.close()

    def _tell_waiting(self, error: ToolError, display: Display | None) -> None:
        """Say why the runs wait, each time the reason changes."""
        why = error.said
        if why == self._told:
            return
        self._told = why
        for item in self._items:
            item.spool.put(Seen(stage="sent", said=why))
        if display is not None:
            first, more = self.runs[0], f" and {len(self.runs) - 1} more" if len(self.runs) > 1 else ""
            what = f"{first.entry} run {first.run}{more}"
            display.progress(f"{what} cannot start yet: {why}; trying again for {duration(self._patience_s)}")

    def _never_started(self, spool: Spool, run: Run, error: ToolError) -> Run:
        """The record of a run that the executor refused."""
        said = f"never started: {error.said}"
        said += f"; next: {error.hint}" if error.hint else ""
        run = self._book.reread(run)
        run = structs.replace(run, exit=Exit(never_started=True), problems=(*run.problems, *noted(said)))
        run = self._book.write_run(run)
        self._book.drop(spool)
        return run


def send(workspace: Workspace, book: Book, plan: RunPlan, name: str) -> Run:
    """Record a run and submit it once."""
    attempts = Attempts(workspace, book, [plan], name)
    attempts.attempt()
    return attempts.runs[0]


def _submission(
    workspace: Workspace, book: Book, plan: RunPlan, name: str, executor: Executor, stack: contextlib.ExitStack
) -> tuple[Submission, Run]:
    """A run with its spool, which is held until `stack` is left, and its record, which is still to be written."""
    number, left_s = reserve(workspace, book, plan)
    work, secrets = sealed(work_of(workspace, book, plan, number, left_s), workspace.redactor)
    # What holds the devices for the runs of its series must not keep these waiting.
    takes_turns = executor.devices is not None and not work.is_setup
    work = structs.replace(work, takes_turns=takes_turns, devices=executor.devices or ())
    run = planned_run(workspace, book, plan, work.run)
    host = Host(name=executor.place) if executor.place is not None else run.host
    run = structs.replace(run, executor=name, pool=pool_of(workspace, name), host=host)
    spool = book.begin(run)
    claim = stack.enter_context(spool.claimed())
    if claim is None:
        raise StoreError(f"{spool.folder} is in use", cause="another process made it", hint="logbook doctor")
    return Submission(spool=spool, claim=claim, work=work, secrets=secrets, unit=plan.unit), run


# -- work without its secrets ------------------------------------------------------------------------


def sealed(work: Work, redactor: Redactor) -> tuple[Work, dict[str, str]]:
    """The work without secrets, and the values that are missing in it by the names of their variables."""
    shown = enumerate(zip(work.argv, redactor.argv(work.argv), strict=True))
    hidden = {f"argv.{place}": (f"{OWN}{place}", word) for place, (word, safe) in shown if word != safe}
    hidden |= {f"env.{name}": (name, v) for name, v in work.env.items() if redactor.named(name, v) != v}
    if redactor.text(work.executable) != work.executable:
        hidden["executable"] = f"{OWN}EXECUTABLE", work.executable
    secrets = redactor.secrets_in_argv(work.argv)
    hidden |= {f"secrets.{place}": (f"{OWN}VALUE_{place}", secret.value) for place, secret in enumerate(secrets)}
    safe = structs.replace(
        work,
        argv=tuple("" if f"argv.{place}" in hidden else word for place, word in enumerate(work.argv)),
        words=command_words(redactor.argv(work.argv)),
        env={name: "" if f"env.{name}" in hidden else value for name, value in work.env.items()},
        executable="" if "executable" in hidden else work.executable,
        keep=tuple(map(redactor.text, work.keep)),
        secrets=tuple(structs.replace(secret, value="") for secret in secrets),
        hidden={place: name for place, (name, _) in hidden.items()},
    )
    return safe, dict(hidden.values())
