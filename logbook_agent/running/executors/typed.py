"""Jobs whose submission was typed by hand, such as `uv run iris --cluster=NAME job run --no-wait ... -- CMD`.

Its first words are also what the job is asked about with, by any later command. They lie in the spool.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from logbook_agent.model.errors import StoreError, ToolError
from logbook_agent.running.executors.command import Submitter
from logbook_agent.running.executors.templates import JobTemplates, filled, iris
from logbook_agent.running.worker.work import Work
from logbook_agent.store.spool import Sent
from logbook_agent.text.commands import known

_NAME = "--job-name={name}"


class Typed(Submitter):
    """Submissions to Iris as they were typed."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__(iris(("iris",)), place="iris", environ=environ, check=lambda _: None)

    def _templates(self, work: Work) -> JobTemplates:
        line = _line(work)
        return iris((work.executable, *work.argv[1 : line.base]))

    def _sent(self, work: Work) -> Sent:
        line = _line(work)
        if any(place in work.hidden for place in ("executable", *(f"argv.{n}" for n in range(line.base)))):
            raise ToolError(
                "the state of this job could not be asked for later",
                cause="the words before `job run` hold a secret, and secrets are never stored",
                hint="pass it to iris in an environment variable",
            )
        sent = super()._sent(work)
        return dataclasses.replace(sent, name=line.name or sent.name, is_typed=line.name is not None)

    def _named(self, work: Work, templates: JobTemplates, sent: Sent) -> list[str]:
        line = _line(work)
        options = line.base + len(("job", "run"))
        own = [] if line.name is not None else filled((_NAME,), name=sent.name)
        return [work.executable, *work.argv[1:options], *own, *work.argv[options:]]


def _line(work: Work) -> known.IrisLine:
    line = known.iris(work.argv)
    if line is None:
        raise StoreError(f"{work.entry} run {work.run} is not a submission to Iris", cause="its spool was changed")
    return line
