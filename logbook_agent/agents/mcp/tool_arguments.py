"""The arguments of the tools: each is the option of that name (`max_pairs` is `--max-pairs`), or what a command takes
without one. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from msgspec import Struct

from logbook_agent.model.values import spelt

# The longest that `wait` waits: hosts give up a call after 60 s.
LONGEST_WAIT_S = 45.0

# A `prose` is a text that an option would also read from a file; a `choice` chooses the command, and is no option.
Kind = Literal["text", "prose", "texts", "count", "seconds", "flag", "pairs", "proses", "two", "choice"]
_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_PAIRS = {
    "type": "object",
    "patternProperties": {"=": False},
    "additionalProperties": {"type": ["string", "number", "boolean"]},
}
_SCHEMAS: dict[Kind, dict[str, Any]] = {
    "text": _TEXT,
    "prose": _TEXT,
    "texts": _TEXTS,
    "count": {"type": "integer"},
    "seconds": {"type": "number"},
    "flag": {"type": "boolean"},
    "pairs": _PAIRS,
    "proses": _PAIRS,
    "two": {**_TEXTS, "minItems": 2, "maxItems": 2},
    "choice": {},
}


class Argument(Struct, frozen=True):
    """An argument, how its value becomes words of a command line, and what it means."""

    name: str
    kind: Kind
    about: str = ""

    @property
    def schema(self) -> dict[str, Any]:
        return {**_SCHEMAS[self.kind], **({"description": self.about} if self.about else {})}

    def words(self, value: Any) -> Iterator[str]:
        """The option for a value of the schema."""
        option = f"--{self.name.removesuffix('_s').replace('_', '-')}"
        match self.kind:
            case "choice":
                return
            case "seconds":
                yield f"{option}={min(max(value, 0.1), LONGEST_WAIT_S)}s"
            case "count":
                yield f"{option}={int(value)}"  # 3.0 is an integer of JSON
            case "flag":
                yield from [option] if value else []
            case "two":
                yield from (option, *value)
            case "texts":
                yield from (f"{option}={one}" for one in value)
            case "pairs":
                yield from (f"{option}={name}={spelt(one)}" for name, one in value.items())
            case "proses":
                yield from (f"{option}={name}={prose(spelt(one))}" for name, one in value.items())
            case kind:
                yield f"{option}={prose(value) if kind == 'prose' else value}"

    def behind(self, value: Any) -> Iterator[str]:
        """The value as it stands behind the options."""
        yield from value if isinstance(value, list) else [prose(value) if self.kind == "prose" else value]


_ALL = (
    Argument("subcommand", "choice", "Default: run"),
    Argument("action", "choice"),
    Argument("id", "text", "Entry ID"),
    Argument("logbook", "text", "Topic or prefix; needed where no ID says it"),
    Argument("budget", "count", "Most bytes of the answer (8000); the least useful is left out"),
    Argument("words", "texts", "All must occur; with tried, also KEY=VALUE"),
    Argument("tried", "flag", "What did not work: failures, no gain, abandoned"),
    Argument("state", "text", "A state; of edit: planned, blocked, abandoned, void, computed"),
    Argument("kind", "text", "Of an entry: experiment, note, decision, incident"),
    Argument("last", "count", "Only the last N"),
    Argument("full", "flag", "Every sample and all provenance"),
    Argument("tail", "count", "Instead, the last N lines of the output of its last run, or of ID/RUN"),
    Argument("references", "texts", "An entry with a comparison; or rows: ID, ID/RUN or ID:LABEL, the base first"),
    Argument("base", "text", "The value of the axis to compare with"),
    Argument("metric", "texts", "Metrics; of ab: those that decide"),
    Argument("where", "pairs", "Only rows with these values"),
    Argument("baseline", "flag", "Compare with the baseline"),
    Argument("title", "prose"),
    Argument("hypothesis", "prose", "What is expected, and why"),
    Argument("interpretation", "prose", "What it means. [[ID metric]] cites a number"),
    Argument("next", "prose", "Next action"),
    Argument("field", "proses", "Texts with labels of your own"),
    Argument("continues", "text"),
    Argument("completes", "text"),
    Argument("supersedes", "text", "The entry that this one corrects"),
    Argument("command", "texts", "'LABEL: COMMAND' or 'COMMAND', quoted as in a shell"),
    Argument(
        "argv", "texts", "The command as a list of words; of ab, {axis} stands for the value; of sweep, the recipe"
    ),
    Argument("label", "text", "What this run is"),
    Argument("repeat", "count", "Runs"),
    Argument("noise", "flag", "Measure how much runs vary"),
    Argument("discard", "count", "Warm-up runs first"),
    Argument("axis", "text", "What differs. Of ab, base first: NAME=V,V or env:NAME=V,V"),
    Argument("code", "two", "ab of two commits, or of a commit and WORK"),
    Argument("like", "text", "ab: the command of this run, ID/RUN"),
    Argument("setup", "text", "ab: a shell command to run first, such as a build"),
    Argument("new", "flag", "ab: another entry about the same"),
    Argument("pairs", "count", "ab: exactly N pairs, judged once"),
    Argument("min_effect", "text", "ab: smallest change that matters, such as 2%"),
    Argument("max_pairs", "count", "ab: at most N pairs; with id, N more"),
    Argument("max_time", "text", "ab: 30m, 2h"),
    Argument("seed", "count", "ab: seed of the order"),
    Argument("gate", "texts", "What a row must fulfil to count: ok == 1, same checksum"),
    Argument("free", "texts", "Labels that may differ between the sides"),
    Argument("set", "texts", "sweep: K=V"),
    Argument("scale", "text", "sweep: such as tiny"),
    Argument("config", "pairs", "Config that the command does not report"),
    Argument("env", "pairs", "Variables"),
    Argument("timeout", "text", "90s, 30m, 2h"),
    Argument("stall", "text", "End it when it prints nothing for so long"),
    Argument("cwd", "text"),
    Argument("shell", "flag", "argv is one text for a shell"),
    Argument("frozen", "flag", "Run in a copy of the code, so that you can edit it meanwhile"),
    Argument("on", "text", "Executor or launcher"),
    Argument("ids", "texts", "Default: all that are running"),
    Argument("any", "flag", "Return when one has ended"),
    Argument("timeout_s", "seconds", f"At most {LONGEST_WAIT_S:.0f}"),
    Argument("text", "prose", "note: the text"),
    Argument("result", "prose", "Result in words; numbers come from runs"),
    Argument("confidence", "text", "edit: exploratory, replicated, stable, computed"),
    Argument("reason", "prose", "edit: why this confidence or void"),
    Argument("accept", "prose", "edit: why its withheld numbers count"),
    Argument("append", "flag", "edit: add to the fields"),
    Argument("why", "prose", "keep, discard: why"),
    Argument("summary", "prose", "summary: what is known so far"),
    Argument("met", "count", "criterion: number of the criterion that is met"),
    Argument("unmet", "count", "criterion: number of the criterion that is not met"),
    Argument("evidence", "text", "criterion: an entry, or a URL"),
    Argument("create", "flag", "Open the issue when there is none"),
    Argument("repo", "text", "With create: OWNER/REPO"),
    Argument("digest", "text", "Digest of the plan to write; without it, show the plan"),
)
ARGUMENTS = {argument.name: argument for argument in _ALL}


def prose(text: str) -> str:
    """A text as its option reads it: neither `@` nor `-` names a file."""
    return f"@{text}" if text.startswith("@") else "- " if text == "-" else text
