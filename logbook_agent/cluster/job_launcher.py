"""A launcher that submits jobs, as it is called for one run: what it is told by its templates, and what it answers."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from logbook_agent.cluster.job_templates import LAST_WORD, JobState, JobTemplates, Words, filled, job_state
from logbook_agent.model.errors import ToolError
from logbook_agent.running.programs import MOST_ANSWER_BYTES, ProgramAnswer, run_program
from logbook_agent.running.worker.work import Work
from logbook_agent.store.spool import Sent
from logbook_agent.text.shell_words import split_env_words

# The state of a job that its launcher does not know any more.
GONE = "gone"
_MOST_LOG_BYTES = 256 * 2**20
# Whoever only looks waits no longer for an answer.
_LOOK_S = 30.0
# The clocks of two machines, or of one at two times, may differ by so much.
_SLACK_S = 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLauncher:
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
