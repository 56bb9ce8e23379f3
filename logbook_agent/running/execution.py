"""One execution: facts before, process, output, rows, facts after; each written as soon as it is known."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from logbook_agent import __version__
from logbook_agent.model.codec import utf8
from logbook_agent.model.errors import StoreError, ToolError
from logbook_agent.model.run import Code, Env, Exit, Output, Process, Run, Scalar
from logbook_agent.running.beside import OpenRun, open_runs, with_runs
from logbook_agent.running.launch.execute import execute
from logbook_agent.running.launch.output import OutputLog
from logbook_agent.running.launch.process import Job, Outcome
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.running.prepare import Command
from logbook_agent.running.provenance.load import counters, host_root, until_now
from logbook_agent.running.provenance.snapshot import Provenance, snapshot
from logbook_agent.running.results.lines import LineSplitter
from logbook_agent.running.results.reader import ResultReader, ResultReading
from logbook_agent.store.book import Book
from logbook_agent.store.files import create_log, make_folder, write_atomic
from logbook_agent.store.processes import this_process
from logbook_agent.store.reading import read_bytes
from logbook_agent.store.repository import repository_of
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.commands.flags import flags

Stream = Literal["stdout", "stderr"]
_RESULT_FILE_BYTES = 64 * 1024 * 1024


class Display(Protocol):
    """Where the user watches: raw output as it comes, ticks between, and a line for each step of a series."""

    def output(self, stream: Stream, data: bytes) -> None: ...
    def tick(self, last_result: str | None, log_bytes: int) -> None: ...
    def done(self) -> None: ...
    def progress(self, text: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """What one execution is to be: the command, which entry and run it is, its declared config.
    `discarded`: it warms up and does not count."""

    command: Command
    entry_id: str
    repeat: int | None = None
    discarded: bool = False
    timeout_s: float | None = None
    config: dict[str, Scalar]


class _Sinks:
    """Hands each piece of output to the log, the result reader and the display."""

    def __init__(
        self, log: OutputLog, reader: ResultReader, display: Display, on_start: Callable[[Process], None]
    ) -> None:
        self._log = log
        self._reader = reader
        self._display = display
        self._on_start = on_start
        self._splitters = {"stdout": LineSplitter(), "stderr": LineSplitter()}

    def started(self, pid: int, create_time: float | None) -> None:
        self._on_start(Process(pid=pid, started=create_time))

    def output(self, stream: Stream, data: bytes) -> None:
        self._log.feed(stream, data)
        self._display.output(stream, data)
        for line in self._splitters[stream].feed(data):
            self._reader.feed(line)

    def idle(self) -> None:
        self._log.idle()
        self._display.tick(self._reader.last, self._log.bytes)

    def finish(self) -> list[str]:
        """Feed what was left of a last line; problems with lines that were too long."""
        problems = []
        for stream, splitter in self._splitters.items():
            for line in splitter.finish():
                self._reader.feed(line)
            if splitter.dropped:
                problems.append(f"{splitter.dropped} lines of {stream} were too long to be read for results")
        return problems


def run_once(workspace: Workspace, book: Book, plan: RunPlan, display: Display, stops: StopRequests) -> Run:
    """Execute, record and return the run. The record stands on disk before the process starts.

    The caller holds `stops`, so that a request to stop leaves no record without an end.
    """
    command = plan.command
    number = book.new_run(plan.entry_id)
    folder = book.run_folder(plan.entry_id, number)
    facts = _facts(workspace, book, command)
    beside = open_runs(workspace, book)
    run = _started(workspace, plan, number, facts)
    run = dataclasses.replace(run, contention=with_runs(facts.contention, beside))
    run = dataclasses.replace(run, code=_keep_code(workspace, book, folder, facts))
    book.write_run(run)
    state = {"run": run}

    def on_start(child: Process) -> None:
        state["run"] = dataclasses.replace(state["run"], child=child)
        book.write_run(state["run"])

    reader = ResultReader(workspace.redacted)
    create = functools.partial(create_log, within=book.root)
    log = OutputLog(folder / "output.log", workspace.redactor, create=create, max_bytes=workspace.config.log_bytes)
    sinks = _Sinks(log, reader, display, on_start)
    with _result_file() as result_file:
        host = host_root(workspace.environ)
        before = counters(host)
        try:
            outcome = _outcome(_job(workspace, plan, number, result_file), sinks, stops)
            if (found := state["run"].contention) is not None:
                state["run"] = dataclasses.replace(state["run"], contention=until_now(found, before, host))
        finally:
            problems = sinks.finish()
            output = log.finish()
            display.done()
        file_text, file_problems = _read_result_file(result_file)
    reading = reader.finish(
        declared=book.header.metrics,
        axes=book.header.case_keys,
        argv_flags=flags(command.argv),
        config=plan.config,
        file_text=file_text,
    )
    problems = [*_contended(book, beside), *facts.problems, *problems, *file_problems, *log.problems, *outcome.problems]
    return book.write_run(_finished(workspace, state["run"], outcome, output, reading, problems))


def expected_run(workspace: Workspace, book: Book, command: Command, config: Mapping[str, Scalar]) -> Run:
    """The run of a command as its record would begin if it were started now. Nothing is written."""
    facts = _facts(workspace, book, command)
    run = _started(workspace, RunPlan(command=command, entry_id="", config=dict(config)), 0, facts)
    return workspace.redacted_run(dataclasses.replace(run, code=facts.code))


def _facts(workspace: Workspace, book: Book, command: Command) -> Provenance:
    return snapshot(
        cwd=command.cwd,
        root=book.root,
        argv=command.argv,
        environ=_environ(workspace, command),
        env_patterns=workspace.config.env,
        packages=workspace.config.packages,
        remote=command.launch is not None,
    )


def _contended(book: Book, beside: Sequence[OpenRun]) -> list[str]:
    """Other runs of this logbook that go on while this one starts: they may share its machine."""
    own = [one for one in beside if one.topic == book.topic]
    return [f"contended: {one.name} was {one.state} when this one started" for one in own]


def _outcome(job: Job, sinks: _Sinks, stops: StopRequests) -> Outcome:
    """How the job ended. One that the system would not start has ended too, with the reason as a problem."""
    try:
        return execute(job, sinks, stops=stops)
    except ToolError as error:
        text = f"not started: {error.message}" + (f" ({error.cause})" if error.cause else "")
        return Outcome(exit=Exit(code=error.exit_code), duration_s=0.0, problems=(text,))


def _started(workspace: Workspace, plan: RunPlan, number: int, facts: Provenance) -> Run:
    command = plan.command
    return Run(
        entry=plan.entry_id,
        run=number,
        label=command.label,
        repeat=plan.repeat,
        discarded=plan.discarded,
        planned=command.planned,
        argv=command.argv,
        shell=command.shell,
        cwd=_relative(command.cwd, workspace),
        timeout_s=plan.timeout_s,
        launcher=command.launch,
        env=Env(
            declared=command.env,
            relevant=command.far_env
            if command.launch is not None
            else {k: v for k, v in facts.relevant_env.items() if k not in command.env},
        ),
        config=plan.config,
        host=facts.host,
        devices=facts.devices,
        software={**facts.software, "logbook-agent": __version__},
        contention=facts.contention,
        tool=this_process(),
        started=workspace.stamp(),
    )


def _relative(cwd: Path, workspace: Workspace) -> str:
    """The working folder from the top of the repository, else from the root's parent, else whole."""
    place = repository_of(cwd)
    for base in (place.top if place is not None else None, workspace.root.parent):
        if base is not None and cwd.is_relative_to(base):
            return cwd.relative_to(base).as_posix()
    return str(cwd)


def _finished(
    workspace: Workspace,
    run: Run,
    outcome: Outcome,
    output: Output,
    reading: ResultReading,
    problems: list[str],
) -> Run:
    return dataclasses.replace(
        run,
        ended=workspace.stamp(),
        duration_s=round(outcome.duration_s, 6),
        exit=outcome.exit,
        peak_memory_bytes=outcome.peak_memory_bytes,
        output=output,
        rows=reading.rows,
        problems=(*problems, *reading.problems),
    )


def _keep_code(workspace: Workspace, book: Book, folder: Path, facts: Provenance) -> Code | None:
    """Write the diff and small untracked files beside the record, redacted, and name them in it."""
    code = facts.code
    if code is None:
        return None
    if facts.diff is not None:
        diff = _redacted_bytes(workspace, facts.diff)
        write_atomic(folder / "changes.diff", diff, within=book.root, durable=False)
        code = dataclasses.replace(code, diff_kept="changes.diff")
    files = []
    for number, file in enumerate(code.untracked, 1):
        content = facts.untracked.get(file.path)
        if content is not None:
            kept = f"files/{number:02d}-{_safe_name(workspace, utf8(Path(file.path).name))}"
            make_folder(folder / "files", within=book.root)
            write_atomic(folder / kept, _redacted_bytes(workspace, content), within=book.root, durable=False)
            file = dataclasses.replace(file, kept=kept)
        files.append(file)
    return dataclasses.replace(code, untracked=tuple(files))


def _safe_name(workspace: Workspace, name: str) -> str:
    """The name of a file without a secret in it."""
    safe = workspace.redactor.text(name)
    return name if safe == name else re.sub(r"[^\w.-]+", "-", safe).strip("-")


def _redacted_bytes(workspace: Workspace, data: bytes) -> bytes:
    text = data.decode("utf-8", "surrogateescape")
    return workspace.redactor.text(text).encode("utf-8", "surrogateescape")


def _environ(workspace: Workspace, command: Command) -> Mapping[str, str]:
    return {**workspace.environ, **command.env}


def _job(workspace: Workspace, plan: RunPlan, number: int, result_file: Path) -> Job:
    command = plan.command
    env = {
        **_environ(workspace, command),
        "LOGBOOK_ENTRY_ID": plan.entry_id,
        "LOGBOOK_RUN": str(number),
        "LOGBOOK_RESULT_FILE": str(result_file),
    }
    argv = command.argv if command.shell else (command.executable, *command.argv[1:])
    return Job(argv=argv, shell=command.shell, cwd=command.cwd, env=env, timeout_s=plan.timeout_s)


@contextmanager
def _result_file() -> Iterator[Path]:
    """A path outside the logbook for the command's JSON, since it is not redacted yet."""
    folder = Path(tempfile.mkdtemp(prefix="logbook-"))
    try:
        yield folder / "result.json"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _read_result_file(path: Path) -> tuple[str | None, list[str]]:
    """What the command wrote there, as far as it is a file of a size to read."""
    if not os.path.lexists(path):
        return None, []
    try:
        data = read_bytes(path, within=path.parent, limit=_RESULT_FILE_BYTES)
    except StoreError as error:
        return None, [f"$LOGBOOK_RESULT_FILE: {error.message}"]
    return data.decode("utf-8", "replace"), []
