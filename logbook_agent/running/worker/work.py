"""What a worker is asked to do, where it works, and whom it reports to.

Work can be sealed: then it can be written down, because its secrets go by the names of variables. One that stands under
its own name in `env` keeps it; a word of the command gets a name of ours, under which the executor must hand it over.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Literal, Protocol

from msgspec import Struct, field, structs

from logbook_agent.model.code import Code, CodeRules, CommandWords
from logbook_agent.model.codec import CodecError, decode, encode
from logbook_agent.model.errors import StoreError, ToolError
from logbook_agent.model.worker_report import Began
from logbook_agent.store.folder import PROSE_BYTES, Folder
from logbook_agent.store.json_text import parse_json
from logbook_agent.store.run_files import WORK
from logbook_agent.text.redaction.known_values import KnownValues
from logbook_agent.text.redaction.names import Secret, secrets_in

Stream = Literal["stdout", "stderr"]


class Awaited(Struct, frozen=True, kw_only=True):
    """The file that a benchmark tool writes: its path or pattern (empty: logbook provides the file), the path from
    there of a file that explains it, and that of one whose keys are the tool's names of this machine."""

    file: str = ""
    beside: str = ""
    names: str = ""


class Work(Struct, frozen=True, kw_only=True):
    """One execution of one command, with all that a worker needs to make it without the logbook.

    `words`: what is to be known of argv. `executable` is what argv[0] resolved to (empty: the worker looks for it),
    `env` is set for the process.
    `is_carried`: a launcher's prefix carries the command to yet another machine, so the facts of the worker's machine
    do not apply. `root` is the folder of logbooks, which is not part of the code; `code` identifies the synced files,
    if the folder is not a repository. `env_patterns` and `packages` name what is recorded beyond the defaults,
    `secret_names` the variables whose values are hidden beyond them.

    `hidden`: the places whose values are secrets and left out (`argv.3`, `env.HF_TOKEN`), each with the variable that
    holds the value where the worker runs. So sealed work can be written to any disk. `secrets`: those in the words of
    the command, which may be printed without what shows that they are secret.

    `mark` is the whole name of the run, which marks the processes of the command.

    `read`: the file of a benchmark tool whose results are read, too.

    `tree`: the folder for the synced files that contain `cwd`; the worker chooses a slot in it (`tree.py`).

    `keep`: patterns of the files that are kept when the command has ended, `inputs`: files and folders whose digests
    are recorded before it starts; both relative to `cwd`.

    `left_s`: what the budget leaves for it, which ends it as `timeout_s` does.

    `takes_turns`: the worker waits while another run uses a device that the command needs. `devices` are those of its
    machine; none: those that it finds. `rules`: which files are code. `is_setup`: its command lives as long as the runs
    of a series, which it does not disturb.
    """

    format: int = 1
    entry: str
    run: int
    argv: tuple[str, ...]
    words: CommandWords = CommandWords()
    executable: str
    shell: bool = False
    cwd: str
    env: dict[str, str] = field(default_factory=dict)
    is_carried: bool = False
    syncs: bool = True
    timeout_s: float | None = None
    stall_s: float | None = None
    left_s: float | None = None
    read: Awaited | None = None
    log_bytes: int
    root: str
    code: Code | None = None
    env_patterns: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    secret_names: tuple[str, ...] = ()
    secrets: tuple[Secret, ...] = ()
    hidden: dict[str, str] = field(default_factory=dict)
    mark: str = ""
    tree: str = ""
    keep: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    takes_turns: bool = False
    devices: tuple[str, ...] = ()
    rules: CodeRules = field(default_factory=CodeRules)
    is_setup: bool = False

    @property
    def limit_s(self) -> float | None:
        """When the command is ended, by its own limit or that of the budget."""
        return min((limit for limit in (self.timeout_s, self.left_s) if limit is not None), default=None)


class Workplace(Struct, frozen=True, kw_only=True):
    """Where a worker works: the environment and the clock there, the values that are hidden before they reach a file,
    the folder for its `files`, descriptors that the command inherits (`keeps`), so that its devices are taken as long
    as it runs, and what went wrong before."""

    environ: Mapping[str, str]
    values: KnownValues
    now: Callable[[], datetime]
    files: Folder
    keeps: tuple[int, ...] = ()
    problems: tuple[str, ...] = ()


class Watch(Protocol):
    """Where a worker reports to while it works. What `began` and `started` raise ends the run; the command starts only
    after `began` has returned."""

    def began(self, facts: Began) -> None: ...

    def started(self, group: int) -> None: ...

    def output(self, stream: Stream, data: bytes) -> None:
        """Bytes as they were read, not redacted."""

    def idle(self, last_result: str | None, log_bytes: int) -> None:
        """Nothing came for a moment; called again and again while nothing comes."""

    def done(self) -> None:
        """The command has ended, and its log is closed."""


# -- work without its secrets ------------------------------------------------------------------------


# Names of ours begin so; the command does not see these variables.
OWN = "LOGBOOK_SECRET_"


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
    return structs.replace(
        work,
        argv=tuple(found.get(f"argv.{place}", word) for place, word in enumerate(work.argv)),
        env={name: found.get(f"env.{name}", value) for name, value in work.env.items()},
        executable=found.get("executable", work.executable),
        secrets=tuple(
            structs.replace(secret, value=found[f"secrets.{place}"]) for place, secret in enumerate(work.secrets)
        ),
        hidden={},
    )


def write_work(work: Work, files: Folder) -> None:
    """Write sealed work to the folder of its worker."""
    files.write(WORK, json.dumps(encode(work)).encode(), durable=False)


def read_work(files: Folder) -> Work:
    """The sealed work in the folder of a worker. Raises StoreError."""
    place = files.path / WORK
    try:
        return decode(Work, parse_json(files.text(WORK, limit=PROSE_BYTES), place))
    except CodecError as error:
        raise StoreError(f"{place}: {error}", cause="another version of logbook-agent wrote it") from error


def environ_of(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a worker's command: without the variables that were only meant for the worker."""
    return {name: value for name, value in environ.items() if not name.startswith(OWN)}


def values_of(work: Work, environ: Mapping[str, str]) -> KnownValues:
    """The secrets of unsealed work and of the variables around it."""
    names = work.secret_names
    found = (*secrets_in(environ, names), *secrets_in(work.env, names), *work.secrets)
    return KnownValues(secrets=tuple(dict.fromkeys(found)))
