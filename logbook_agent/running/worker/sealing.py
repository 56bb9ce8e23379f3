"""Work without the secrets in it, so that it can be written down; and with them again, where the worker runs.

A secret goes by the name of a variable. One that stands under its own name in `env` keeps it; a word of the command
gets a name of ours, under which the executor must hand it over.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from logbook_agent.model.errors import ToolError
from logbook_agent.running.worker.work import Work
from logbook_agent.text.redaction.plain import redacted
from logbook_agent.text.redaction.redactor import Redactor
from logbook_agent.text.redaction.secrets import secrets_in

# Names of ours begin so; the command does not see these variables.
OWN = "LOGBOOK_SECRET_"


def sealed(work: Work, redactor: Redactor) -> tuple[Work, dict[str, str]]:
    """The work without secrets, and the values that are missing in it by the names of their variables."""
    hidden: dict[str, str] = {}
    values: dict[str, str] = {}

    def hide(place: str, name: str, value: str) -> str:
        hidden[place], values[name] = name, value
        return ""

    shown = redactor.argv(work.argv)
    argv = [
        word if word == safe else hide(f"argv.{place}", f"{OWN}{place}", word)
        for place, (word, safe) in enumerate(zip(work.argv, shown, strict=True))
    ]
    env = {
        name: value if redactor.named(name, value) == value else hide(f"env.{name}", name, value)
        for name, value in work.env.items()
    }
    executable = work.executable
    if redactor.text(executable) != executable:
        executable = hide("executable", f"{OWN}EXECUTABLE", executable)
    config = redacted(dict(work.config), redactor)
    return dataclasses.replace(
        work, argv=tuple(argv), env=env, executable=executable, config=config, hidden=hidden
    ), values


def unsealed(work: Work, environ: Mapping[str, str]) -> Work:
    """The work with its secrets, which are variables of `environ`. Raises ToolError for one that is not set."""
    missing = sorted({name for name in work.hidden.values() if name not in environ})
    if missing:
        raise ToolError(
            f"not set where the worker runs: {', '.join(missing)}",
            cause="they hold secrets, and a secret is never sent with a command",
            hint=f"set {missing[0]} there",
        )
    found = {place: environ[name] for place, name in work.hidden.items()}
    return dataclasses.replace(
        work,
        argv=tuple(found.get(f"argv.{place}", word) for place, word in enumerate(work.argv)),
        env={name: found.get(f"env.{name}", value) for name, value in work.env.items()},
        executable=found.get("executable", work.executable),
        hidden={},
    )


def environ_of(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a worker's command: without the variables that were only meant for the worker."""
    return {name: value for name, value in environ.items() if not name.startswith(OWN)}


def redactor_of(work: Work, environ: Mapping[str, str]) -> Redactor:
    """What hides the secrets of unsealed work and of the variables around it."""
    names = work.secret_names
    known = Redactor(secrets=secrets_in(environ, names), extra_names=names, extra_rules=work.secret_rules)
    return known.knowing((*secrets_in(work.env, names), *known.secrets_in_argv(work.argv)))
