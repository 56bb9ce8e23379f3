"""The tools: name, what it does, its arguments, the schemas that answer it, and hints for the host. Pure."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from logbook_agent.agents.mcp import tool_arguments as arguments
from logbook_agent.model.codec import CodecError, decode
from logbook_agent.model.errors import UsageError
from logbook_agent.text.near import nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool; `answers` are the names of its schemas, as of `--json`. `executes`: it starts or ends commands, and is
    offered only where the user allows that. `leaves`: it reaches out of this machine."""

    name: str
    description: str
    arguments: type[Any]
    answers: tuple[str, ...]
    reads: bool = False
    destroys: bool = False
    repeats: bool = False
    executes: bool = False
    leaves: bool = False

    def listed(self) -> dict[str, Any]:
        """The tool as `tools/list` has it."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": input_schema(self.arguments),
            "outputSchema": output_schema(self.answers),
            "annotations": {
                "readOnlyHint": self.reads,
                # These two mean something only of a tool that writes.
                **({} if self.reads else {"destructiveHint": self.destroys, "idempotentHint": self.repeats}),
                "openWorldHint": self.leaves,
            },
        }


# In this order they are listed, always.
TOOLS = (
    Tool(
        name="status",
        description="Where the research stands: answers, open questions, failures, running work, next steps. Call it"
        " first, and whenever you have lost context.",
        arguments=arguments.StatusArguments,
        answers=("status",),
        reads=True,
    ),
    Tool(
        name="search",
        description="Find entries by words in titles, texts, commands, config, results and output; with tried, what did"
        " not work. Search before you try something.",
        arguments=arguments.SearchArguments,
        answers=("list", "tried"),
        reads=True,
    ),
    Tool(
        name="show",
        description="One entry with its runs, or the end of its output.",
        arguments=arguments.ShowArguments,
        answers=("show", "log"),
        reads=True,
    ),
    Tool(
        name="compare",
        description="The answer of a comparison, or numbers side by side, which settle nothing.",
        arguments=arguments.CompareArguments,
        answers=("compare",),
        reads=True,
    ),
    Tool(
        name="plan",
        description="Plan an experiment: a hypothesis, and commands to run later by its ID.",
        arguments=arguments.PlanArguments,
        answers=("plan",),
    ),
    Tool(
        name="run",
        description="Start a command as an experiment, an A/B in pairs of runs (axis or code) or a sweep (recipe). It"
        " runs in the background and the answer has its ID; then call wait.",
        arguments=arguments.RunArguments,
        answers=("run", "noise", "ab", "sweep"),
        destroys=True,
        executes=True,
        leaves=True,
    ),
    Tool(
        name="wait",
        description="Wait for runs, at most 45 s, and show the end of their output. While timeout is true, call again.",
        arguments=arguments.WaitArguments,
        answers=("wait",),
        reads=True,
    ),
    Tool(
        name="cancel",
        description="Stop the runs of an entry; what was measured stays.",
        arguments=arguments.CancelArguments,
        answers=("cancel",),
        destroys=True,
        executes=True,
    ),
    Tool(
        name="record",
        description="Add a note, decision or incident; change the texts, confidence or state of an entry (an empty text"
        " removes a field); set the summary; judge a criterion.",
        arguments=arguments.RecordArguments,
        answers=("note", "edit", "status", "criteria"),
        destroys=True,
    ),
    Tool(
        name="sync",
        description="Show what would be written to the GitHub issue, with a digest; called with that digest, write it.",
        arguments=arguments.SyncArguments,
        answers=("sync",),
        destroys=True,
        repeats=True,
        leaves=True,
    ),
)


def tools(*, allow_run: bool) -> tuple[Tool, ...]:
    """Those that are offered."""
    return tuple(tool for tool in TOOLS if allow_run or not tool.executes)


def checked(tool: Tool, given: Mapping[str, Any]) -> Any:
    """The arguments of a call. Raises UsageError for one that the tool does not have, lacks, or of a wrong type."""
    names = [field.name for field in dataclasses.fields(tool.arguments)]
    for name in given:
        if name not in names:
            near = nearest(name, names)
            raise UsageError(
                f"{tool.name}: unknown argument {name!r}",
                cause=f"its arguments are {', '.join(names)}",
                hint=f"did you mean {near}?" if near else "leave it out",
            )
    for key in ("config", "env", "fields"):
        pairs = given.get(key)
        if isinstance(pairs, Mapping) and (wrong := [one for one in pairs if "=" in one]):
            raise UsageError(
                f"{tool.name}: {key}: {wrong[0]!r} holds =", cause="a name ends at its first =", hint="rename it"
            )
    try:
        # What is null is not given.
        return decode(tool.arguments, {name: value for name, value in given.items() if value is not None})
    except CodecError as error:
        raise UsageError(
            f"{tool.name}: {error}",
            cause="the argument is not what the tool's schema says",
            hint=f"its arguments are {', '.join(names)}",
        ) from error


# -- schemas -------------------------------------------------------------------------------------------

_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
}


def input_schema(arguments_of: type[Any]) -> dict[str, Any]:
    """The JSON schema of a class of arguments."""
    hints = get_type_hints(arguments_of, include_extras=True)
    fields = dataclasses.fields(arguments_of)
    required = [f.name for f in fields if f.default is dataclasses.MISSING]
    return {
        "type": "object",
        "properties": {f.name: _schema(hints[f.name]) for f in fields},
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _schema(hint: Any) -> dict[str, Any]:
    origin = get_origin(hint)
    if origin is Annotated:
        inner, said = get_args(hint)
        return {**_schema(inner), "description": said}
    if origin in (Union, types.UnionType):
        [inner] = [one for one in get_args(hint) if one is not type(None)]
        return _schema(inner)
    if origin is Literal:
        return {"enum": [*get_args(hint)]}
    if origin is tuple:
        return {"type": "array", "items": _schema(get_args(hint)[0])}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object"}
    return _PLAIN[hint]


def output_schema(answers: tuple[str, ...]) -> dict[str, Any]:
    """The JSON schema of an answer: that of `--json`, whose name says what `data` holds."""
    return {
        "type": "object",
        "properties": {
            "schema": {"enum": [f"logbook/{name}/1" for name in answers]},
            "data": {},
            "warnings": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["schema", "data", "warnings"],
    }
