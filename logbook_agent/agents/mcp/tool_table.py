"""The tools: each row has a name, what the tool does, its arguments, and the command that it runs. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from logbook_agent.agents.mcp.tool_arguments import ARGUMENTS, LONGEST_WAIT_S


class Tool(Struct, frozen=True, kw_only=True):
    """A tool. `command` holds the first words of its command line; the argument `chosen_by` may choose other
    `commands` by its value (None: it is not given). `behind`: the arguments that stand behind the options. `executes`:
    it starts or ends commands, and is offered only where the user allows that. `leaves`: it reaches out of this
    machine."""

    name: str
    description: str
    command: str = ""
    chosen_by: str = ""
    commands: Mapping[str | None, str] = field(default_factory=dict)
    takes: str = ""
    needs: str = ""
    behind: str = ""
    reads: bool = False
    destroys: bool = False
    executes: bool = False
    leaves: bool = False

    @property
    def names(self) -> list[str]:
        """Its arguments."""
        return [*filter(None, [self.chosen_by, *self.needs.split(), *self.takes.split()]), "logbook"]

    def words(self, given: Mapping[str, Any]) -> list[str]:
        """The command line for arguments of its schema; what does not go together is left to the command."""
        behind = self.behind.split()
        options = (w for n in self.names if n in given and n not in behind for w in ARGUMENTS[n].words(given[n]))
        last = [word for name in behind if name in given for word in ARGUMENTS[name].behind(given[name])]
        first = self.commands.get(given.get(self.chosen_by), self.command)
        return [*first.split(), *options, *(["--", *last] if last else [])]

    def listed(self) -> dict[str, Any]:
        """The tool as `tools/list` has it."""
        properties = {name: ARGUMENTS[name].schema for name in self.names}
        if choices := [*filter(None, self.commands)]:
            properties[self.chosen_by] |= {"enum": choices}
        required = [*self.needs.split(), *([] if self.command else [self.chosen_by])]
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": properties,
                **({"required": required} if required else {}),
                "additionalProperties": False,
            },
            "annotations": {
                "readOnlyHint": self.reads,
                # This means something only of a tool that writes.
                **({} if self.reads else {"destructiveHint": self.destroys}),
                "openWorldHint": self.leaves,
            },
        }


_PROSE = "hypothesis interpretation next field continues completes supersedes"
_HOW = "id title argv config env timeout stall cwd shell frozen discard on"
_RUN = "label repeat noise"
_AB = "axis code like setup min_effect metric gate free pairs max_pairs max_time seed new"

# In this order they are listed, always.
TOOLS = (
    Tool(
        name="status",
        description="Where the research stands: answers, open questions, failures, running work, next steps. Call it"
        " first, and whenever you have lost context.",
        command="status",
        takes="budget",
        reads=True,
    ),
    Tool(
        name="search",
        description="Find entries by words in titles, texts, commands, config, results and output; with tried, what did"
        " not work. Search before you try something.",
        command="list",
        takes="words tried state kind last",
        behind="words",
        reads=True,
    ),
    Tool(
        name="show",
        description="One entry with its runs, one run (id: ID/RUN), or the end of its output.",
        command="show",
        needs="id",
        takes="tail full",
        behind="id",
        reads=True,
    ),
    Tool(
        name="compare",
        description="The answer of a comparison, or numbers side by side, which settle nothing.",
        command="compare",
        needs="references",
        takes="axis base metric where baseline",
        behind="references",
        reads=True,
    ),
    Tool(
        name="plan",
        description="Plan an experiment: a hypothesis, and commands to run later by its ID.",
        command="note --plan",
        needs="title",
        takes=f"{_PROSE} command",
    ),
    Tool(
        name="run",
        description="Start a command as an experiment (run), a comparison in pairs of runs (ab; plan_ab only states it)"
        " or a sweep. It runs in the background and the answer has its ID; then call wait. With id: run executes the"
        " planned commands of an entry, or argv; ab makes more pairs and takes the rest from the entry; sweep goes on.",
        command="run --detach",
        chosen_by="subcommand",
        commands={"run": "run --detach", "ab": "ab --detach", "plan_ab": "ab --plan", "sweep": "sweep --detach"},
        takes=f"{_HOW} {_PROSE} {_RUN} {_AB} set scale",
        behind="argv",
        destroys=True,
        executes=True,
        leaves=True,
    ),
    Tool(
        name="wait",
        description="Wait for runs, at most 45 s, and show the end of their output, or a comparison's answer. While"
        " timeout is true, call again.",
        command=f"wait --timeout={LONGEST_WAIT_S}s",
        takes="ids any timeout_s",
        behind="ids",
        reads=True,
    ),
    Tool(
        name="cancel",
        description="Stop the runs of an entry; what was measured stays.",
        command="cancel",
        needs="id",
        behind="id",
        destroys=True,
        executes=True,
    ),
    Tool(
        name="record",
        description="Add a note, decision or incident; change the texts, confidence or state of an entry (an empty text"
        " removes a field), or without id the gates of the logbook; keep or discard the code of an entry; set the"
        " summary; judge a criterion.",
        chosen_by="action",
        commands={
            "note": "note",
            "edit": "edit",
            "keep": "keep",
            "discard": "discard",
            "summary": "status",
            "criterion": "criteria",
        },
        takes=f"id text title kind result {_PROSE} confidence state reason append accept gate free why summary met"
        " unmet evidence",
        behind="id text",
        destroys=True,
    ),
    Tool(
        name="sync",
        description="Show what would be written to the GitHub issue, with a digest; called with that digest, write it.",
        command="sync --max-wait=20s",
        chosen_by="digest",
        commands={None: "sync --max-wait=20s --dry-run"},
        takes="create repo",
        destroys=True,
        leaves=True,
    ),
)


def tools(*, allow_run: bool) -> tuple[Tool, ...]:
    """Those that are offered."""
    return tuple(tool for tool in TOOLS if allow_run or not tool.executes)
