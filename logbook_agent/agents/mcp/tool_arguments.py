"""The arguments of the tools: each is the option of that name (`max_pairs` is `--max-pairs`), or what a command takes
without one. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from logbook_agent.model.values import spelt

# The longest that `wait` waits: hosts give up a call after 60 s.
LONGEST_WAIT_S = 45.0

Kind = Literal["text", "prose", "texts", "count", "seconds", "flag", "pairs", "proses", "two"]
_SCHEMAS: dict[Kind, dict[str, Any]] = {
    "text": {"type": "string"},
    "prose": {"type": "string"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "count": {"type": "integer"},
    "seconds": {"type": "number"},
    "flag": {"type": "boolean"},
    "pairs": {"type": "object"},
    "proses": {"type": "object"},
    "two": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
}
_TYPES: dict[str, Any] = {
    "string": str,
    "array": list,
    "integer": int,
    "number": int | float,
    "boolean": bool,
    "object": dict,
}


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument, how its value becomes words of a command line, and what it means."""

    name: str
    kind: Kind
    about: str = ""


_ALL = (
    Argument("id", "text", "Entry ID"),
    Argument("logbook", "text", "Topic or prefix; needed where there are several and no ID says it"),
    Argument("budget", "count", "Most bytes of the answer (8000); the least useful is left out"),
    Argument("words", "texts", "All must occur; with tried, also KEY=VALUE"),
    Argument("tried", "flag", "What did not work: failures, no gain, abandoned"),
    Argument("state", "text", "A state; of edit: planned, blocked, abandoned, void, computed"),
    Argument("kind", "text", "Of an entry: experiment, note, decision, incident"),
    Argument("last", "count", "Only the last N"),
    Argument("full", "flag", "Every sample and all provenance"),
    Argument("tail", "count", "Instead, the last N lines of the output of its last run"),
    Argument("run", "count", "With tail: the output of run N"),
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
    Argument("continues", "text", "Entry ID"),
    Argument("completes", "text", "Entry ID"),
    Argument("supersedes", "text", "The entry that this one corrects"),
    Argument("command", "texts", "'LABEL: COMMAND' or 'COMMAND', quoted as in a shell"),
    Argument("argv", "texts", "The command as a list of words; of ab, {axis} stands for the value"),
    Argument("label", "text", "What this run is"),
    Argument("repeat", "count", "Runs"),
    Argument("noise", "flag", "Measure how much runs vary"),
    Argument("discard", "count", "Warm-up runs first"),
    Argument("axis", "text", "What differs. Of ab, base first: NAME=V,V or env:NAME=V,V"),
    Argument("code", "two", "ab of two commits, or of a commit and WORK"),
    Argument("like", "text", "ab: the command of this run, ID/RUN"),
    Argument("setup", "text", "ab: a command to run first, such as a build"),
    Argument("new", "flag", "ab: another entry about the same"),
    Argument("pairs", "count", "ab: exactly N pairs, judged once"),
    Argument("min_effect", "text", "ab: smallest change that matters, such as 2%"),
    Argument("max_pairs", "count", "ab: at most N pairs; with id, N more"),
    Argument("max_time", "text", "ab: 30m, 2h"),
    Argument("seed", "count", "ab: seed of the order"),
    Argument("gate", "texts", "What a row must fulfil to count: ok == 1, same checksum"),
    Argument("free", "texts", "Labels that may differ between the sides"),
    Argument("recipe", "text", "sweep: name or file"),
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


def schema_of(argument: Argument) -> dict[str, Any]:
    return {**_SCHEMAS[argument.kind], **({"description": argument.about} if argument.about else {})}


def mismatch(argument: Argument, value: Any) -> str:
    """In what a value is not of its argument's kind; empty where it is."""
    schema = _SCHEMAS[argument.kind]
    wanted = schema["type"]
    if not isinstance(value, _TYPES[wanted]) or (isinstance(value, bool) and wanted != "boolean"):
        return f"expected {wanted}, got {type(value).__name__}"
    if wanted == "array" and (others := [one for one in value if not isinstance(one, str)]):
        return f"expected string, got {type(others[0]).__name__}"
    if argument.kind == "two" and len(value) != 2:
        return f"expected two names, got {len(value)}"
    for name, one in value.items() if isinstance(value, dict) else ():
        if "=" in name or not isinstance(one, str | int | float | bool):
            return f"{name!r} holds =" if "=" in name else f"{name}: expected a text, number or boolean"
    is_dash = (argument.kind == "prose" and value == "-") or (argument.kind == "proses" and "-" in value.values())
    return "it is only a dash" if is_dash else ""


def option_words(argument: Argument, value: Any) -> Iterator[str]:
    """An option for a value."""
    option = f"--{argument.name.removesuffix('_s').replace('_', '-')}"
    match argument.kind:
        case "seconds":
            seconds = min(max(LONGEST_WAIT_S if value is None else value, 0.1), LONGEST_WAIT_S)
            yield f"{option}={seconds}s"
        case _ if value is None or value is False:
            return
        case "flag":
            yield option
        case "two":
            yield from (option, *value)
        case "texts":
            yield from (f"{option}={one}" for one in value)
        case "pairs" | "proses":
            made = prose if argument.kind == "proses" else str
            yield from (f"{option}={name}={made(spelt(one))}" for name, one in value.items())
        case kind:
            yield f"{option}={prose(value) if kind == 'prose' else value}"


def prose(text: str) -> str:
    """A text as its option reads it: `@` does not name a file."""
    return f"@{text}" if text.startswith("@") else text
