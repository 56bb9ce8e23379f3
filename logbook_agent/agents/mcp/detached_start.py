"""What the tool `run` starts: a command line of ours, in a process of its own, which outlives this one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from logbook_agent.agents.mcp.tool_arguments import RunArguments
from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.model.values import Scalar, spelt
from logbook_agent.store.workspace import Workspace

# Until an entry is there; its runs go on afterwards.
_STARTING_S = 50.0
# Arguments of each form of `run`, beyond those of all.
_ALWAYS = {"on", "cwd"}
_TEXTS = {"title", "hypothesis", "interpretation", "next", "fields", "continues", "completes", "supersedes"}
_HOW = {"argv", "id", "config", "env", "timeout", "stall", "discard"}
_OF: dict[str, set[str]] = {
    "run": _ALWAYS | _TEXTS | _HOW | {"label", "noise", "repeat"},
    "ab": _ALWAYS | _TEXTS | _HOW | {"axis", "code", "min_effect", "pairs", "max_pairs", "max_time", "seed", "metrics"},
    "sweep": {"on", "recipe", "sets", "scale", "resume"},
}
_OPTIONS = {"sets": "set", "metrics": "metric", "fields": "field"}


def start(workspace: Workspace, asked: RunArguments) -> dict[str, Any]:
    """Start what is asked for, detached; the answer of the command, which may be an error."""
    words = command_words(asked, workspace)
    if any("\0" in word for word in words):
        raise UsageError("run: an argument holds a NUL", cause="no command line can hold one", hint="leave it out")
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "logbook_agent", *words],
        cwd=workspace.cwd,
        env=dict(workspace.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A host that ends this server and its group ends no run.
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=_STARTING_S)
    except subprocess.TimeoutExpired as error:
        raise StoreError(
            f"not started within {_STARTING_S:.0f} s, and still starting",
            cause="the machine is busy, or a launcher takes its time",
            hint="call status: it lists the run as soon as it has begun",
        ) from error
    try:
        answer = json.loads(out)
    except ValueError as error:
        raise StoreError(
            "the started command gave no answer",
            cause=(err or out).strip()[-500:] or f"it exited with {process.returncode}",
            hint="logbook doctor",
        ) from error
    return dict(answer)


def command_words(asked: RunArguments, workspace: Workspace) -> list[str]:
    """The command line for a workspace. Raises UsageError for arguments that do not go together."""
    name = _form(asked)
    given = {key: value for key, value in vars(asked).items() if value not in (None, (), {}, False)}
    if others := sorted(given.keys() - _OF[name] - {"logbook"}):
        raise UsageError(
            f"run: {others[0]} is not an argument of {_NAMES[name]}",
            cause=f"{_NAMES[name]} takes {', '.join(sorted(_OF[name]))}",
            hint="leave it out",
        )
    words = [name, f"--root={workspace.root}", "--detach", "--json"]
    words += [f"--logbook={workspace.logbook_option}"] if workspace.logbook_option is not None else []
    for key, value in given.items():
        if key not in ("argv", "recipe", "code", "logbook"):
            words += _options(key, value)
    words += ["--code", *asked.code] if asked.code else []
    behind = [asked.recipe] if asked.recipe is not None else asked.argv
    return [*words, "--", *behind] if behind else words


_NAMES = {"run": "a run", "ab": "an A/B", "sweep": "a sweep"}


def _form(asked: RunArguments) -> str:
    """The subcommand that is meant."""
    forms = {
        "ab": asked.axis is not None or bool(asked.code),
        "sweep": asked.recipe is not None or asked.resume is not None,
    }
    meant = [name for name, is_meant in forms.items() if is_meant]
    if len(meant) > 1:
        raise UsageError(
            "run: cannot start an A/B and a sweep at once", cause="axis and recipe are given", hint="leave one out"
        )
    if asked.code and len(asked.code) != 2:
        raise UsageError("run: code needs two names", cause=f"it has {len(asked.code)}", hint='code: ["main", "WORK"]')
    return meant[0] if meant else "run"


def _options(key: str, value: Any) -> Iterator[str]:
    option = f"--{_OPTIONS.get(key, key).replace('_', '-')}"
    if value is True:
        yield option
    elif isinstance(value, Mapping):
        yield from (f"{option}={name}={_text(key, part)}" for name, part in value.items())
    elif isinstance(value, tuple):
        yield from (f"{option}={part}" for part in value)
    else:
        yield f"{option}={_text(key, value)}"


def _text(key: str, value: Scalar) -> str:
    """A value as the option means it. A text is what it says: `@` does not name a file, nor `-` standard input."""
    text = spelt(value)
    if key not in _TEXTS:
        return text
    if text == "-":
        raise UsageError(
            f"run: {key} is only a dash",
            cause="a dash reads standard input, which a tool does not have",
            hint="leave it out",
        )
    return f"@{text}" if text.startswith("@") else text
