"""Small campaigns, each left in a state of its own; the commands that the tool prints there, and typing them."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.conftest import Answer, Cli

BENCH = """\
speed=100; [ "$2" = int8 ] && speed=106; [ "$MODE" = fast ] && speed=108
[ "$2" = bad ] && exit 1
[ -f kill ] && [ "$LOGBOOK_RUN" = 5 ] && { rm kill; kill -9 $PPID; }
[ -f sums ] && sum=" checksum=$2"
echo "RESULT quant_mode=$2 topk=${4:-2} tflops=$speed.$((LOGBOOK_RUN * 7 % 10))$sum"
"""
RECIPE = """\
name: demo
question: Is int8 faster?
command: [sh, bench.sh, --quant-mode, "{quant_mode}", --topk, "{topk}"]
fixed: {quant_mode: int8}
axes: {topk: [2, 4, 6]}
controls: [{quant_mode: none}]
compare: {axis: quant_mode, base: none}
metrics: [tflops]
"""
RUN = "run -- sh bench.sh --quant-mode"
COMMAND = "-- sh bench.sh --quant-mode none"
AB = "ab --axis quant_mode=none,int8 --seed 1"
FEW = f"{AB} --max-pairs 4 {COMMAND}"
PLAN = 'note --plan --title P --command "A: sh bench.sh --quant-mode none"'
SETTLED = "compared: {axis: quant_mode, values: [none, int8], settled: true"

# States of a thread, by the commands that lead there; `:` marks what is no command of logbook.
STATES = {
    "nothing": [],
    "open pairs": [FEW],
    "settled": [f"{AB} {COMMAND}"],
    "code committed": [FEW, ":edit", ":commit"],
    "code edited": [FEW, ":edit"],
    "documents committed": [FEW, ":document", ":commit"],
    "no git": [":no git", FEW],
    "no git, code edited": [":no git", f"{AB} --plan {COMMAND}", FEW.replace("seed 1", "seed 2 --new"), ":edit"],
    "several logbooks": [
        "start two --prefix TWO --metric tflops:max:TF/s",
        *(f"{command} -L {topic}" for topic in ("moe", "two") for command in ("status", "criteria")),
        *(f"{RUN.replace('run', 'run -L two')} {mode}" for mode in ("none", "int8")),
        f"-L moe {FEW}",
        f"criteria -L moe --add both --predicate '{SETTLED}, for_each: {{topk: [2, 4]}}}}'",
        "criteria -L moe --add long --predicate 'budget: {}'",
        "sweep -L two demo --set confirm=3",
    ],
    "subfolder": [
        "run --cwd sub -- sh ../bench.sh --quant-mode none", "run --cwd sub -- sh ../bench.sh --quant-mode int8",
        "ab --cwd sub --axis quant_mode=none,int8 --max-pairs 3 -- sh ../bench.sh --quant-mode none",
    ],
    "plain runs": [f"{RUN} none", "run --env MODE=fast --next 'try 4' -- sh bench.sh --quant-mode int8", f"{RUN} none"],
    "one run": [f"{RUN} none"],
    "a plan": [PLAN],
    "a plan of an A/B": [f"{AB} --plan {COMMAND}"],
    "a plan of an A/B, code committed": [f"{AB} --plan {COMMAND}", ":edit", ":commit"],
    "next actions": ["note Idea --next '`sh bench.sh --quant-mode int8`'", f"note Idea --next 'logbook {FEW}'"],
    "code axis": [":edit", f"ab --code HEAD WORK --evaluator none --max-pairs 3 {COMMAND}", ":commit", f"{RUN} none"],
    "criteria": [
        f"criteria --add better --predicate '{SETTLED}}}'",
        f"criteria --add each --predicate '{SETTLED}, for_each: {{topk: [2, 4]}}}}'",
        "criteria --add long --predicate 'budget: {}'",
        "criteria --add 'someone agrees'",
        f"{RUN} none --topk 2", f"{RUN} int8 --topk 4",
    ],
    "a judgement in doubt": [f"{RUN} none", "criteria --add 'someone agrees'", "criteria --met 1 --evidence MOE-000",
        "baseline --entry MOE-000", "edit MOE-000 --state void --reason wrong"],
    "discarded": [f"{AB} {COMMAND}", "discard MOE-000 --why slow"],
    "kept": [f"{AB} {COMMAND}", "keep MOE-000", ":edit", ":commit"],
    "failing side": [f"{AB.replace('int8', 'bad')} {COMMAND}", "keep MOE-000"],
    "a side failed": [f"{AB.replace('int8', 'bad')} --title T --max-pairs 4 --min-effect 2% {COMMAND}"],
    "a warm-up failed": [f"{AB.replace('int8', 'bad')} --discard 1 --pairs 4 {COMMAND}"],
    "a setup failed": [f"{AB} --title T --max-pairs 4 --setup 'exit 1' {COMMAND}"],
    "a commit failed": [":break", ":commit", f"ab --code HEAD~1 HEAD --evaluator none {COMMAND}"],
    "a setup failed on commits": [
        ":edit", ":commit", f"ab --code HEAD~1 HEAD --evaluator none --setup 'grep -q changed bench.sh' {COMMAND}",
    ],
    "a gate came later": [f"{AB} --pairs 2 {COMMAND}", "edit --gate 'ok == 1' --reason it"],
    "a branch that was compared": [
        ":branch",
        "criteria --add b --predicate 'compared: {axis: code, values: [main, idea], settled: true}'", ":edit",
        f"ab --code main WORK --evaluator none --max-pairs 3 {COMMAND}", ":commit",
        f"ab --code main HEAD --evaluator none --max-pairs 3 {COMMAND}",
    ],
    "a failed run": [f"{RUN} bad", "keep MOE-000"],
    "env axis": [f"ab --axis env:MODE=,fast --max-pairs 3 {COMMAND}"],
    "shell": ["ab --shell --axis quant_mode=none,int8 --max-pairs 3 -- 'sh bench.sh --quant-mode {axis} | cat'"],
    "fixed pairs": [f"{AB} --pairs 2 {COMMAND}", f"{AB} --pairs 2 {COMMAND}", f"{AB} --max-pairs 5 {COMMAND}"],
    "killed A/B": [":kill", f"! {FEW}"],
    "killed sweep": [":kill", "! sweep demo"],
    "sweep": ["sweep demo --set confirm=3"],
    "sweep with a failure": ["sweep demo --set quant_mode=bad --set confirm=0"],
    "budget spent": ["criteria --budget runs=8", FEW, FEW],
    "checksum differs": [":sums", f"{AB} {COMMAND}"],
    "gate broken": [":sums", "edit --gate 'same checksum' --reason it", f"{AB} {COMMAND}"],
    "closed": [f"{RUN} none", "close --conclusion Done", f"{RUN} int8"],
    "baseline": [f"{RUN} none", "baseline --entry MOE-000", f"{RUN} int8", "compare MOE-001 --baseline"],
    "wrong words": [
        f"{RUN} none", "compare MOE-000 MOE-009", "compare MOE-000 --axis nope", "keep MOE-009", "show MOE-1",
        "ab --id MOE-000", "sweep --id MOE-000", "run --id MOE-000", "ab --like MOE-000 --axis nope=1,2",
        "discard MOE-000", "criteria --met 1", "-L nope status", "list --tried nope", "wait MOE-009",
        "reproduce MOE-000/7",
    ],
}  # fmt: skip

# These are left to `make test-long`.
WIDE = {
    "settled", "code edited", "no git, code edited", "subfolder", "one run", "a plan", "a plan of an A/B", "kept",
    "documents committed", "discarded", "a failed run", "env axis", "shell", "fixed pairs", "killed A/B",
    "killed sweep", "sweep with a failure", "a warm-up failed", "a commit failed", "closed", "baseline",
}  # fmt: skip

_VERBS = (
    "ab|run|sweep|wait|keep|discard|criteria|edit|sync|compare|show|next|status|list|table|note|baseline|close|start"
    "|doctor|reproduce|render|cancel|patch"
)
_PRINTED = re.compile(rf"logbook (?:-L \S+ )?(?:{_VERBS})\b[^`\n]*")
# What stands behind a command in a line of text: the entries of a criterion, the sentence's end.
_BEHIND = re.compile(r"( \[[A-Z0-9, -]+\])?(?:[),;]*|(?<!\.)\.)$|; then.*$| \([A-Z]+-[0-9]+\)?$")
# A place that a person fills.
_PLACE = re.compile(r"(?<!\w)(?:COMMAND|ID|OTHER|TEXT|NAME|TOPIC|RECIPE|FILE|DIR|N|[AB])(?!\w)|\.\.\.")
# Commands that only show something are printed again.
_SHOWING = ("compare", "show", "next", "status", "list", "table", "doctor", "wait")


_QUESTIONS = ("next", "status", "criteria", "list")
# These show no place that a person has to fill.
_COMPLETE = (*_QUESTIONS, "compare", "show")


@dataclass(frozen=True, kw_only=True)
class Printed:
    """A command that the answer to `source` printed; `is_hint`: below an error."""

    command: str
    source: str
    is_hint: bool = False

    @property
    def words(self) -> list[str]:
        return shlex.split(self.command)[1:]

    @property
    def is_template(self) -> bool:
        return bool(_PLACE.search(self.command))

    @property
    def is_for_a_person(self) -> bool:
        """Whether nobody else knows what stands in its place: the first command, and what shows a judgement."""
        return bool(re.fullmatch(r"logbook (-L \S+ )?(run -- COMMAND|criteria --met \d+ --evidence ID)", self.command))

    @property
    def may_be_template(self) -> bool:
        return self.is_hint or self.is_for_a_person or not {*self.source.split()} & {*_COMPLETE}

    @property
    def is_advice(self) -> bool:
        """Whether a question about the thread was answered with it."""
        return bool({*self.source.split()} & {*_QUESTIONS}) and not self.is_hint

    @property
    def acts(self) -> bool:
        # `criteria` without options shows them.
        shows = {*self.words[:1], *self.words[2:3]} & {*_SHOWING} or self.words[-1] == "criteria"
        return not shows and "--help" not in self.words

    @property
    def adds_runs(self) -> bool:
        return (
            bool({*self.words[:1], *self.words[2:3]} & {"ab", "run", "sweep"})
            and len(self.words) > 1
            and "--help" not in self.words
        )


@dataclass(kw_only=True)
class Campaign:
    """A thread in `folder`, and what it has printed so far."""

    cli: Cli
    folder: Path
    steps: list[str]
    printed: dict[str, Printed] = field(default_factory=dict)

    def make(self) -> None:
        for name, text in (("bench.sh", BENCH), ("README.md", "x\n"), ("recipes/demo.yaml", RECIPE), ("sub/x", "x\n")):
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_text(text)
        if ":no git" not in self.steps:
            self._git("init", "-q", "-b", "main")
            self._commit()
        assert self.cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s").code == 0
        for step in self.steps:
            if step.startswith("! "):
                words = [sys.executable, "-m", "logbook_agent", *shlex.split(step[2:])]
                subprocess.run(words, cwd=self.folder, capture_output=True, check=False)
            elif step.startswith(":"):
                self._change(step[1:])
            else:
                self.ask(step)

    def _change(self, what: str) -> None:
        if what in ("kill", "sums"):
            (self.folder / what).touch()
        elif what == "edit":
            if not (self.folder / ".git").exists():
                self.printed.clear()  # nothing has the code any more
            (self.folder / "bench.sh").write_text(f"{BENCH}# changed\n")
        elif what == "break":
            (self.folder / "bench.sh").write_text("echo broken >&2\nexit 3\n")
        elif what == "branch":
            self._git("checkout", "-q", "-b", "idea")
        elif what == "document":
            (self.folder / "README.md").write_text("y\n")
        elif what == "commit":
            self._commit()

    def _git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.folder, check=True, capture_output=True, timeout=30)

    def _commit(self) -> None:
        self._git("add", "-A")
        self._git("commit", "-q", "-m", "A change")

    def read(self) -> None:
        """Ask for what is open, and for each entry."""
        topics = sorted(path.stem for path in (self.folder / "logbooks").glob("*.md"))
        entries = sorted(path.stem.partition(".")[0] for path in (self.folder / "logbooks").glob("*/entries/*.yaml"))
        for topic in topics:
            named = f"-L {topic} " if len(topics) > 1 else ""
            for question in _QUESTIONS:
                self.ask(named + question)
                self.ask(f"{named}{question} --json")
        for entry in entries:
            for question in ("compare", "show"):
                self.ask(f"{question} {entry}")
                self.ask(f"{question} {entry} --json")
        if len(entries) > 1:
            self.ask(f"compare {entries[0]} {entries[1]}")

    def ask(self, source: str) -> None:
        """Type a command, and note what it prints."""
        for one in commands_in(source, self.cli(*shlex.split(source))):
            self.printed.setdefault(one.command, one)


def commands_in(source: str, answer: Answer) -> Iterator[Printed]:
    """The commands that an answer prints, but for the one that was typed."""
    is_error = "error: " in answer.err or '"logbook/error/1"' in answer.out
    for text in (answer.out, answer.err):
        try:
            lines = [*_strings(json.loads(text))]
        except ValueError:
            lines = text.splitlines()
        for line in lines:
            for command in _PRINTED.findall(line):
                found = _BEHIND.sub("", command.strip())
                if found != f"logbook {source}":
                    yield Printed(command=found, source=source, is_hint=is_error)


def _strings(data: object) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list):
        for one in data.values() if isinstance(data, dict) else data:
            yield from _strings(one)


def runs_in(folder: Path) -> int:
    return sum(1 for _ in folder.glob("logbooks/*/runs/*/*.json")) + sum(
        1 for _ in folder.glob("logbooks/*/runs/*/*/run.json")
    )


def typed_in_copies(campaign: Campaign, one: Printed, go_to: Callable[[Path], None]) -> Iterator[str]:
    """What goes wrong when a printed command is typed in a copy of the folder: where it was printed, and where that
    was the answer to a question, in another folder."""
    # The words of a command are paths from the folder in which somebody typed it.
    is_of_folder = " -- " in one.command
    for place in (".", "sub") if one.is_advice and not is_of_folder else (".",):
        copy = campaign.folder.parent / "copy"
        shutil.copytree(campaign.folder, copy, symlinks=True)
        go_to(copy / place)
        before = runs_in(copy)
        answer = campaign.cli(*one.words)
        wrong = answer.code not in (0, 1) or "error:" in answer.err
        said = f"[{one.source}] {one.command} (in {place}): "
        if wrong:
            yield f"{said}exit code {answer.code}\n{answer.err}"
        elif one.adds_runs and runs_in(copy) <= before:
            yield f"{said}it added no run\n{answer.err}"
        elif one.acts and one.is_advice and ":no git" not in campaign.steps:
            # Where no commit holds the code, an entry that waits for it stays open.
            again = commands_in(one.source, campaign.cli(*shlex.split(one.source)))
            yield from [f"{said}printed again\n{answer.err}" for same in again if same.command == one.command]
        go_to(campaign.folder)
        shutil.rmtree(copy)
