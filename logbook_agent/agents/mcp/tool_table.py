"""The tools: each row has a name, what the tool does, and the command lines that it stands for. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from logbook_agent.agents.mcp.tool_arguments import ARGUMENTS, mismatch, option_words, prose, schema_of
from logbook_agent.model.errors import UsageError
from logbook_agent.text.near import nearest

# How long a sync may wait for its host: hosts give up a call after 60 s.
_SYNC_WAIT = "--max-wait=20s"
# The longest word of a command line on Linux has 128 KiB.
_MOST_BYTES = 120_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A command line of a tool: its first words, the arguments that it takes and needs, which of them stands `behind`
    the options, and the schemas that answer it."""

    words: str
    takes: str = ""
    needs: str = ""
    behind: str = ""
    answers: str = ""

    @property
    def names(self) -> list[str]:
        return [*self.needs.split(), *self.takes.split(), "logbook"]

    def __call__(self, given: Mapping[str, Any]) -> list[str]:
        """The words for checked arguments, `--` and what stands behind it included."""
        options = (word for n in self.names if n != self.behind for word in option_words(ARGUMENTS[n], given.get(n)))
        last = given.get(self.behind)
        behind = [prose(last) if ARGUMENTS[self.behind].kind == "prose" else last] if isinstance(last, str) else last
        return [*self.words.split(), *options, *(["--", *behind] if behind else [])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool. `forms` are its command lines by their names: the argument `chosen_by` names one, else the first that
    takes all that is given. `executes`: it starts or ends commands, and is offered only where the user allows that.
    `leaves`: it reaches out of this machine."""

    name: str
    description: str
    forms: Mapping[str, Form]
    chosen_by: str = ""
    must_choose: bool = False
    reads: bool = False
    destroys: bool = False
    repeats: bool = False
    executes: bool = False
    leaves: bool = False

    def command_line(self, given: Mapping[str, Any]) -> list[str]:
        """The words of the command for the arguments of a call; what is null is not given. Raises UsageError."""
        given = {name: value for name, value in given.items() if value is not None}
        known = [self.chosen_by] if self.chosen_by else []
        known += dict.fromkeys(name for form in self.forms.values() for name in form.names)
        for name, value in given.items():
            if name not in known:
                near = nearest(name, known)
                hint = f"did you mean {near}?" if near else "leave it out"
                raise self._error(f"unknown argument {name!r}", f"its arguments are {', '.join(known)}", hint)
            if name != self.chosen_by and (wrong := mismatch(ARGUMENTS[name], value)):
                raise self._error(f"{name}: {wrong}", "the argument is not what the tool's schema says", "correct it")
        words = self._form(given)(given)
        if any("\0" in word or len(word.encode("utf-8", "replace")) > _MOST_BYTES for word in words):
            raise self._error("an argument fits in no command line", "it holds a NUL, or is very long", "shorten it")
        return words

    def _form(self, given: Mapping[str, Any]) -> Form:
        chosen, names = given.get(self.chosen_by), given.keys() - {self.chosen_by}
        if (chosen is None and self.must_choose) or (chosen is not None and chosen not in self.forms):
            raise self._error(
                f"{self.chosen_by}: expected one of {', '.join(self.forms)}", f"it is {chosen!r}", "choose one"
            )
        foreign = {name: sorted(names - {*form.names}) for name, form in self.forms.items() if chosen in (None, name)}
        name = min(foreign, key=lambda one: len(foreign[one]))
        if foreign[name]:
            cause = "; ".join(f"{one} takes no {', '.join(others)}" for one, others in foreign.items())
            raise self._error("these arguments do not go together", cause, "leave one out, or make two calls")
        form = self.forms[name]
        if lacks := [need for need in form.needs.split() if need not in names]:
            raise self._error(f"{name} needs {lacks[0]}", "it was not given", f"add {lacks[0]}")
        return form

    def _error(self, message: str, cause: str, hint: str) -> UsageError:
        return UsageError(f"{self.name}: {message}", cause=cause, hint=hint)

    def listed(self) -> dict[str, Any]:
        """The tool as `tools/list` has it."""
        names = dict.fromkeys(name for form in self.forms.values() for name in form.names)
        choice = {self.chosen_by: {"enum": [*self.forms]}} if self.chosen_by else {}
        all_need = set.intersection(*({*form.needs.split()} for form in self.forms.values()))
        required = [*([self.chosen_by] if self.must_choose else []), *sorted(all_need)]
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": {**choice, **{name: schema_of(ARGUMENTS[name]) for name in names}},
                **({"required": required} if required else {}),
                "additionalProperties": False,
            },
            "annotations": {
                "readOnlyHint": self.reads,
                # These two mean something only of a tool that writes.
                **({} if self.reads else {"destructiveHint": self.destroys, "idempotentHint": self.repeats}),
                "openWorldHint": self.leaves,
            },
        }


_PROSE = "hypothesis interpretation next field continues completes supersedes"
_TEXTS = f"title {_PROSE}"
_ASKED = "axis code like setup min_effect metric gate free"
_HOW = f"{_TEXTS} argv id config env timeout stall cwd shell frozen discard on"

# In this order they are listed, always.
TOOLS = (
    Tool(
        name="status",
        description="Where the research stands: answers, open questions, failures, running work, next steps. Call it"
        " first, and whenever you have lost context.",
        forms={"status": Form(words="status", takes="budget", answers="status")},
        reads=True,
    ),
    Tool(
        name="search",
        description="Find entries by words in titles, texts, commands, config, results and output; with tried, what did"
        " not work. Search before you try something.",
        forms={
            "list": Form(words="list", takes="words tried state kind last", behind="words", answers="list tried"),
        },
        reads=True,
    ),
    Tool(
        name="show",
        description="One entry with its runs, or the end of its output.",
        forms={"show": Form(words="show", needs="id", takes="tail run full", behind="id", answers="show log")},
        reads=True,
    ),
    Tool(
        name="compare",
        description="The answer of a comparison, or numbers side by side, which settle nothing.",
        forms={
            "compare": Form(
                words="compare",
                needs="references",
                takes="axis base metric where baseline",
                behind="references",
                answers="compare",
            )
        },
        reads=True,
    ),
    Tool(
        name="plan",
        description="Plan an experiment: a hypothesis, and commands to run later by its ID.",
        forms={"note": Form(words="note --plan", needs="title", takes=f"{_PROSE} command", answers="plan")},
    ),
    Tool(
        name="run",
        description="Start a command as an experiment (run), a comparison in pairs of runs (ab; plan_ab only states it)"
        " or a sweep. It runs in the background and the answer has its ID; then call wait. With id: run executes the"
        " planned commands of an entry, or argv; ab makes more pairs and takes the rest from the entry; sweep goes on.",
        forms={
            "run": Form(words="run --detach", takes=f"{_HOW} label repeat noise", behind="argv", answers="run noise"),
            "ab": Form(
                words="ab --detach",
                takes=f"{_HOW} {_ASKED} pairs max_pairs max_time seed new",
                behind="argv",
                answers="ab",
            ),
            "plan_ab": Form(words="ab --plan", takes=f"{_HOW} {_ASKED} max_pairs seed", behind="argv", answers="ab"),
            "sweep": Form(words="sweep --detach", takes="id recipe set scale on", behind="recipe", answers="sweep"),
        },
        chosen_by="subcommand",
        destroys=True,
        executes=True,
        leaves=True,
    ),
    Tool(
        name="wait",
        description="Wait for runs, at most 45 s, and show the end of their output, or a comparison's answer. While"
        " timeout is true, call again.",
        forms={"wait": Form(words="wait", takes="ids any timeout_s", behind="ids", answers="wait")},
        reads=True,
    ),
    Tool(
        name="cancel",
        description="Stop the runs of an entry; what was measured stays.",
        forms={"cancel": Form(words="cancel", needs="id", behind="id", answers="cancel")},
        destroys=True,
        executes=True,
    ),
    Tool(
        name="record",
        description="Add a note, decision or incident; change the texts, confidence or state of an entry (an empty text"
        " removes a field); keep or discard the code of an entry; set the summary; judge a criterion.",
        forms={
            "note": Form(words="note", takes=f"text kind result {_TEXTS}", behind="text", answers="note"),
            "edit": Form(
                words="edit",
                needs="id",
                takes=f"result confidence state reason append accept gate free {_TEXTS}",
                behind="id",
                answers="edit",
            ),
            "keep": Form(words="keep", needs="id", takes="why", behind="id", answers="keep"),
            "discard": Form(words="discard", needs="id why", behind="id", answers="discard"),
            "summary": Form(words="status", needs="summary", answers="status"),
            "criterion": Form(words="criteria", takes="met unmet evidence", answers="criteria"),
        },
        chosen_by="action",
        must_choose=True,
        destroys=True,
    ),
    Tool(
        name="sync",
        description="Show what would be written to the GitHub issue, with a digest; called with that digest, write it.",
        forms={
            "plan": Form(words=f"sync --dry-run {_SYNC_WAIT}", takes="create repo", answers="sync"),
            "write": Form(words=f"sync {_SYNC_WAIT}", needs="digest", takes="create repo", answers="sync"),
        },
        destroys=True,
        repeats=True,
        leaves=True,
    ),
)


def tools(*, allow_run: bool) -> tuple[Tool, ...]:
    """Those that are offered."""
    return tuple(tool for tool in TOOLS if allow_run or not tool.executes)
