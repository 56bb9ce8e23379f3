"""One execution, on the machine of the worker: facts before, process, output, facts after."""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path

from msgspec import structs

from logbook_agent import __version__
from logbook_agent.model.code import Code
from logbook_agent.model.errors import ToolError, UsageError
from logbook_agent.model.worker_report import Began, Contention, End, Exit, noted
from logbook_agent.running.launch.execute import execute
from logbook_agent.running.launch.output_log import OutputLog
from logbook_agent.running.launch.process import Inside, Job, JobOutcome
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.running.programs import resolve
from logbook_agent.running.provenance.contention import counters, host_root, other_runs, until_now
from logbook_agent.running.provenance.git import CodeFacts, CodeLook, change_problems
from logbook_agent.running.provenance.machine import host_facts, other_users, visible_devices
from logbook_agent.running.provenance.named_files import input_facts
from logbook_agent.running.provenance.software import relevant_env, software_versions
from logbook_agent.running.worker.left_files import collect, named_files
from logbook_agent.running.worker.work import Stream, Watch, Work, Workplace
from logbook_agent.running.worker.written import WrittenFile
from logbook_agent.store.folder import Folder
from logbook_agent.store.processes import ENTRY_ID, MARK, RESULT_FILE, RUN, SETUP
from logbook_agent.store.run_files import CODE, LOG, RESULT
from logbook_agent.text.phrases import stamp
from logbook_agent.text.redaction.known_values import KnownValues

_DIGEST_CHARS = 16
_ENDING = re.compile(r"\.[A-Za-z0-9]{1,8}", re.ASCII)
# The code of a run that took longer is looked at again.
_SECOND_LOOK_S = 1.0


class _Sinks:
    """Hands each piece of output to the log and whoever watches."""

    def __init__(self, log: OutputLog, watch: Watch) -> None:
        self._log, self._watch = log, watch

    def started(self, group: int) -> None:
        self._watch.started(group)

    def output(self, stream: Stream, data: bytes) -> None:
        self._log.feed(stream, data)
        self._watch.output(stream, data)

    def idle(self) -> None:
        self._log.idle()
        self._watch.idle(self._log.last, self._log.bytes)


def perform(work: Work, place: Workplace, watch: Watch, stops: StopRequests, *, inside: Inside | None = None) -> End:
    """Execute the command and return how it ended. Its log, the diff of its code, small untracked files and the files
    that it left to be kept are written to the folder of the workplace, without the values of known secrets.

    The caller holds `stops`, so that a request to stop leaves no execution without an end. `inside` is done in this
    process, instead of the command.
    """
    code = code_now(work, place)
    facts = facts_now(work, place, code)
    watch.began(facts)
    log = OutputLog(place.files.path / LOG, place.values, files=place.files, max_bytes=work.log_bytes)
    sinks = _Sinks(log, watch)
    contention, root = facts.contention, host_root(place.environ)
    result_file = Path(os.path.realpath(place.files.path)) / RESULT
    written = WrittenFile(work, work.read, place.files) if work.read is not None else None
    job = functools.partial(_job, written.placed(work) if written is not None else work, place, result_file)
    before = counters(root)
    try:
        outcome = _outcome(job, sinks, stops) if inside is None else inside(sinks)
        if contention is not None:
            contention = until_now(contention, before, root)
    finally:
        output = log.finish()
        watch.done()
    # A launcher has brought the files to another machine long ago.
    is_checked = outcome.duration_s > _SECOND_LOOK_S and not work.is_carried
    changes = change_problems(code, code.again()) if is_checked else ()
    is_spent = outcome.exit.timeout and not outcome.exit.stalled and work.limit_s != work.timeout_s
    spent = ["ended because the hours of the budget are spent"] if is_spent else []
    end = End(
        ended=stamp(place.now()),
        duration_s=round(outcome.duration_s, 6),
        exit=outcome.exit,
        peak_memory_bytes=outcome.peak_memory_bytes,
        contention=contention,
        output=output,
        breaks=tuple(log.breaks),
        whole_bytes=log.whole_bytes,
        unlogged=tuple(log.unlogged),
        read=written.copied() if written is not None else None,
        problems=(*facts.problems, *changes, *noted(*spent, *log.problems, *outcome.problems)),
    )
    artifacts, not_kept = collect(work, place, named_files(place.files), stops.take)
    return structs.replace(end, artifacts=artifacts, problems=(*end.problems, *noted(*not_kept)))


# -- facts -----------------------------------------------------------------------------------------


def code_now(work: Work, place: Workplace) -> CodeFacts:
    """The code that the command runs, as it is now."""
    # Nobody knows which code is behind a launcher that syncs no files.
    if work.is_carried and not work.syncs:
        return CodeFacts()
    environ = {**place.environ, **work.env}
    return CodeLook(Path(work.cwd), Path(work.root), work.words, environ, work.rules).facts()


def facts_now(work: Work, place: Workplace, found: CodeFacts) -> Began:
    """The facts of a run on this machine, as they are now. The diff and small untracked files of its code, which was
    `found`, are kept."""
    cwd, environ, code = Path(work.cwd), {**place.environ, **work.env}, work.code
    if not work.is_carried or work.syncs:
        # What was brought here with the work was kept where it came from.
        code = code or keep_code(found, files=place.files, values=place.values)
    facts = Began(
        started=stamp(place.now()),
        host=host_facts(),
        software={"logbook-agent": __version__},
        code=code,
        problems=noted(*place.problems, *found.problems),
    )
    if work.is_carried:
        # Of a command that runs on yet another machine, the devices, packages and variables of this one say nothing.
        return facts
    contention, runs = other_users(host=host_root(place.environ)), _runs_beside(work, place)
    inputs, not_read = input_facts(work.inputs, cwd)
    held = [f"contended: {who} held an accelerator" for who in (contention.accelerator if contention else ())]
    return structs.replace(
        facts,
        started=stamp(place.now()),
        devices=visible_devices(environ),
        software={**software_versions(work.words, cwd, environ, work.packages), **facts.software},
        env=relevant_env(environ, work.env_patterns),
        contention=structs.replace(contention or Contention(), runs=runs) if runs else contention,
        inputs=inputs,
        problems=(*facts.problems, *noted(*held, *not_read)),
    )


def _runs_beside(work: Work, place: Workplace) -> tuple[str, ...]:
    """The other runs that go on here: of the same logbooks, and on a far machine those with a queue for its devices."""
    here, root = Path(os.path.realpath(place.files.path)), Path(os.path.realpath(work.root))
    if here.is_relative_to(root):
        return other_runs(root, work.mark)
    return other_runs(here.parent, work.mark) if work.takes_turns else ()


def keep_code(found: CodeFacts, *, files: Folder, values: KnownValues) -> Code:
    """The code, after its diff and small untracked files were written to a folder without the values of known secrets,
    and named by their content."""

    def kept(content: bytes | None, ending: str) -> str | None:
        if content is None:
            return None
        content = values.data(content)
        name = f"{CODE}/{hashlib.sha256(content).hexdigest()[:_DIGEST_CHARS]}{ending}"
        files.make(CODE)
        files.write(name, content, durable=False)
        return name

    untracked = (
        structs.replace(file, kept=kept(found.untracked.get(file.path), _ending(file.path)))
        for file in found.code.untracked
    )
    return structs.replace(found.code, diff_kept=kept(found.diff, ".diff"), untracked=tuple(untracked))


def _ending(path: str) -> str:
    ending = Path(path).suffix
    return ending if _ENDING.fullmatch(ending) else ""


# -- the process -----------------------------------------------------------------------------------


def _outcome(job: Callable[[], Job], sinks: _Sinks, stops: StopRequests) -> JobOutcome:
    """How the job ended. One that could not be started has ended too, with the reason as a problem."""
    try:
        return execute(job(), sinks, stops=stops)
    except (ToolError, UsageError) as error:
        text = f"not started: {error.said}"
        return JobOutcome(exit=Exit(code=error.exit_code), duration_s=0.0, problems=(text,))


def _job(work: Work, place: Workplace, result_file: Path) -> Job:
    env = {
        **place.environ,
        **work.env,
        ENTRY_ID: work.entry,
        RUN: str(work.run),
        MARK: work.mark,
        RESULT_FILE: str(result_file),
        **({SETUP: "1"} if work.is_setup else {}),
    }
    executable = work.executable or resolve(work.argv, env, Path(work.cwd))
    argv = work.argv if work.shell else (executable, *work.argv[1:])
    return Job(
        argv=argv,
        shell=work.shell,
        cwd=Path(work.cwd),
        env=env,
        timeout_s=work.limit_s,
        stall_s=work.stall_s,
        keeps=place.keeps,
        mark=work.mark,
    )
