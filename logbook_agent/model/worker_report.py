"""What a worker reports of one execution of a command: its facts before the command starts, and its end. It is all that
another machine has to know of records.

Unknown is None, never 0. Durations are seconds, sizes bytes, times UTC ISO 8601.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from logbook_agent.model.code import Code

# What a problem means for the numbers beside it: they never count, they count once a person accepts the run with a
# reason, or they count and the problem is shown with them.
Grade = Literal["failed", "withheld", "noted"]


class Problem(Struct, frozen=True, kw_only=True):
    """What is wrong with a run or a row."""

    grade: Grade
    text: str

    @classmethod
    def natural(cls, data: object) -> object:
        """A text is a problem as records without grades have it."""
        return {"grade": "noted", "text": data} if isinstance(data, str) else data

    def __str__(self) -> str:
        return self.text if self.grade == "noted" else f"{self.grade}: {self.text}"


def noted(*texts: str) -> tuple[Problem, ...]:
    """Problems that are shown, whatever counts."""
    return tuple(Problem(grade="noted", text=text) for text in texts)


def withheld(*texts: str) -> tuple[Problem, ...]:
    """Problems of numbers that do not count until somebody accepts them."""
    return tuple(Problem(grade="withheld", text=text) for text in texts)


class Device(Struct, frozen=True, kw_only=True):
    """`count` devices of one kind that are visible, of which `used` took part (None: unknown)."""

    platform: str
    kind: str | None = None
    count: int | None = None
    used: int | None = None


class InputFile(Struct, frozen=True, kw_only=True):
    """A file or folder that the user named as an input, as it was typed for the working folder; of a folder the digest
    and size are those of all files in it."""

    path: str
    sha256: str
    bytes: int


class Artifact(Struct, frozen=True, kw_only=True):
    """A file that the command left, called `name` in its working folder. `kept` is its copy in the folder of the run,
    and digest, size and type are those of the copy; a larger file has none and stays at `place`, a host and a path
    there."""

    name: str
    sha256: str
    bytes: int
    media_type: str = ""
    kept: str | None = None
    place: str | None = None


class Host(Struct, frozen=True, kw_only=True):
    name: str | None = None
    os: str | None = None
    cpu: str | None = None
    cores: int | None = None
    memory_bytes: int | None = None


class Contention(Struct, frozen=True, kw_only=True):
    """Who else used the machine, as far as the system tells. All is of the whole machine, which has so many `cores`.

    When the run started: threads of others that wanted a processor, the load of the last minute, the processes that
    held an accelerator open, and the other runs of logbooks that were going on. When it had ended: the first two once
    more (this load is its own as well). Meanwhile: the parts of the processors' time that went to others and that the
    hypervisor took (None where the run was too short to tell), and whether a processor was slowed down for its heat.
    """

    cores: int | None = None
    runnable: int | None = None
    load_1m: float | None = None
    accelerator: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    runnable_after: int | None = None
    load_1m_after: float | None = None
    others: float | None = None
    stolen: float | None = None
    throttled: bool | None = None


class Exit(Struct, frozen=True, kw_only=True):
    """How the run ended. Exactly one of `code` and `signal` is set; `timeout` when a limit ended it, and `stalled`
    when that was the one on the time without output. Of a run that an imported source tells about (`reported`) neither
    is known.

    `interrupted` when the user did (Ctrl-C on the tool). Where nobody saw the end: `lost` when the worker that made the
    run vanished, `never_started` when the command was never started.
    """

    code: int | None = None
    signal: str | None = None
    timeout: bool = False
    stalled: bool = False
    interrupted: bool = False
    lost: bool = False
    never_started: bool = False
    reported: bool = False

    @property
    def is_cut_off(self) -> bool:
        """Whether the command did not come to an end of its own or of its time limit: what it measured was no run."""
        return self.interrupted or self.lost or self.never_started


# Below an error and a rule of dashes.
_JAX_FOOTNOTE = "For simplicity, JAX has removed its internal frames"


class Output(Struct, frozen=True, kw_only=True):
    """What the command printed: sizes of the whole, digest of the log kept, bounded excerpts.

    `head` and `tail` are readable lines of both streams, `error_tail` of stderr alone.
    """

    bytes: int
    lines: int
    sha256: str
    head: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()
    error_tail: tuple[str, ...] = ()
    log_bytes: int | None = None
    truncated: bool = False

    @property
    def last_words(self) -> str:
        """The line that says why a command failed: the last one, but of an error in three lines (`error: ...`, cause,
        next) the first. JAX's footnote says nothing of it. Empty where it printed nothing."""
        lines = self.error_tail or self.tail
        if len(lines) > 2 and lines[-1].startswith(_JAX_FOOTNOTE):
            lines = lines[:-2]
        error = next((line for line in lines[-3:] if line.startswith("error: ")), None)
        return error or (lines[-1] if lines else "")


# How far a run is that has no end in the record. sent: its command has not begun yet. orphaned: its command outlived
# its worker. lost: both are gone without an end; gone: so are those of a run in the foreground. elsewhere: another
# host knows.
Stage = Literal["sent", "running", "ended", "orphaned", "lost", "gone", "never-started", "elsewhere"]
OVER: frozenset[Stage] = frozenset({"ended", "lost", "never-started"})


class Began(Struct, frozen=True, kw_only=True):
    """What the worker finds just before the command starts, at the time `started`: `env` are the variables around the
    command that matter."""

    format: int = 1
    started: str
    host: Host = field(default_factory=Host)
    devices: tuple[Device, ...] = ()
    software: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    contention: Contention | None = None
    code: Code | None = None
    inputs: tuple[InputFile, ...] = ()
    problems: tuple[Problem, ...] = ()


class WrittenFacts(Struct, frozen=True, kw_only=True):
    """The file that a benchmark tool writes, after its command: when that `began` (seconds since the epoch), how many
    such files were `found` and `written` by it, and of the last one the `name`, whether its time is older, and why it
    could not be copied."""

    began: float
    found: int = 0
    written: int = 0
    name: str = ""
    is_old: bool = False
    error: str | None = None


class End(Struct, frozen=True, kw_only=True):
    """How a command ended, what it printed and left as files. What it measured is read when the run is taken in, also
    from the `unlogged` lines, which the log could not hold (then it has whole lines up to `whole_bytes`), and from the
    file of a benchmark tool (`read`). At `breaks`, in bytes of the log, a line of one stream was broken off by the
    other. `problems` are all of the worker's, those of its facts first. `contention` covers the time from the facts to
    the end. `output` is None where no command was started. `duration_s` is None where only a launcher saw the end, and
    does not say."""

    format: int = 1
    ended: str
    duration_s: float | None
    exit: Exit
    peak_memory_bytes: int | None = None
    contention: Contention | None = None
    output: Output | None = None
    breaks: tuple[int, ...] = ()
    whole_bytes: int | None = None
    unlogged: tuple[str, ...] = ()
    read: WrittenFacts | None = None
    artifacts: tuple[Artifact, ...] = ()
    problems: tuple[Problem, ...] = ()
