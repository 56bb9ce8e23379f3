"""Stories: what somebody does with a logbook, as a list of shell commands that follows from a seed alone.

A story reads no store, so each version is given the same commands. It names an entry by the line that made it (`E07`:
the first entry that line 7 made), whatever ID the version gave it.
"""

from __future__ import annotations

import json
import random
import shlex
from dataclasses import dataclass, field

TEXTS = (
    "Tiles of 512 rows are faster.",
    "- a list\n- of two",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "## Not a heading\n\n```\na fence\n```",
    "<!-- a comment --> @ada, see #12 and <b>this</b>",
    "naïve façade, 東京, \U0001f600",
    "one line\n\nand a second paragraph with `code` and $x < y$",
)
PRINTS = (
    "echo RESULT topk=2 tflops=1.5 time_s=0.21",
    "echo RESULT topk=2 tflops=1.5; echo RESULT topk=4 tflops=2.75 loss=0.1",
    "echo METRIC tflops=3 TF/s; echo METRIC tflops=3.1 TF/s",
    """echo 'RESULT_JSON {"config": {"ep": 2}, "metrics": {"tflops": {"samples": [1, 2, 3], "unit": "TF/s"}}}'""",
    """echo '{"metrics": {"tflops": 7}}' > $LOGBOOK_RESULT_FILE""",
    "echo RESULT tflops=nan topk=1; echo nothing more >&2",
    "for i in 1 2 3 4 5 6 7 8; do echo RESULT case=$i tflops=$((i * 7 % 5)).5; done",
    "echo no result at all",
    "echo RESULT tflops=2.5 topk=1 checksum=3f2a",
    "echo Traceback; echo 'ValueError: a shape' >&2; exit 3",
    "echo RESULT tflops=2; kill -9 $$",
    "for s in 1 2 3 4; do echo METRIC loss=0.$((9 - s)) step=$s; done; echo RESULT tflops=2.25",
)
RECIPE = """\
name: grid
question: Which topk?
command: [sh, -c, 'echo RESULT tflops=$(({topk} * 3 + {ep})).5', --topk, '{topk}', --ep, '{ep}']
axes: {topk: [1, 2, 4], ep: [1, 2]}
metrics: [tflops]
"""
# Its values follow from the number of the run: two sums that look like chance, and the effect of a mode.
BENCH = """\
# version 0
n=$((LOGBOOK_RUN * 1009 + SEED * 7907))
a=$(((n * 7919 + 13) % 10007 * (n % 911 + 1) % 2003))
b=$(((n * 6101 + 29) % 10009 * (n % 877 + 3) % 2003))
case $2 in new) e=EFFECT;; old) e=-30000;; *) e=0;; esac
[ $((n % FAILS)) = 0 ] && exit 3
v=$((1000000 + e + NOISE * (a + b - 2002) / 1000))
printf 'RESULT size=%d tflops=%d.%04d time_s=0.%06d\\n' $4 $((v / 10000)) $((v % 10000)) $((100000000000 / v))
"""
SIDES = ("base,new", "base,old", "base,same", "new,base")


@dataclass
class Story:
    """The lines so far, each with the minutes that pass before it, and which of them made what."""

    seed: int
    lines: list[tuple[int, str]] = field(default_factory=list)
    measured: list[str] = field(default_factory=list)
    compared: list[str] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.draw = random.Random(f"story {self.seed}")

    def shell(self, line: str, minutes: int = 0) -> str:
        """Add a line; the name of the entry that it makes, if it makes one."""
        self.lines.append((minutes, line))
        return f"E{len(self.lines) - 1:02d}"

    def say(self, command: str, *words: str) -> str:
        """Add a command of logbook, every other time with --json."""
        json_too = ["--json"] if self.draw.random() < 0.5 else []
        line = shlex.join(["logbook", command, *json_too, *words])
        return self.shell(line, self.draw.choice([1, 3, 15, 600]))

    def write(self, name: str, text: str) -> None:
        self.shell(f"printf %s {shlex.quote(text)} > {name}")

    def commit(self, message: str) -> None:
        self.shell(f"git add -A && git commit -q --allow-empty -m {shlex.quote(message)}")

    def start(self) -> None:
        draw = self.draw
        bench = BENCH.replace("SEED", str(self.seed)).replace("EFFECT", str(draw.choice([4000, 12000, 30000, 60000])))
        bench = bench.replace("NOISE", str(draw.choice([2500, 12000, 30000])))
        self.shell("git init -q -b main && mkdir recipes")
        self.write("bench.sh", bench.replace("FAILS", str(draw.choice([10**9, 10**9, 41]))))
        self.write("recipes/grid.yaml", RECIPE)
        self.commit("A benchmark")
        metrics = draw.choice(
            [["tflops:max:TF/s"], ["tflops:max:TF/s", "time_s:min:s"], ["tflops:max:TF/s", "loss:min"]]
        )
        more = ["--goal", draw.choice(TEXTS), "--constraint", "one host", "--stop", "Nothing gains more than 1%."]
        more += draw.choice([[], ["--zone", "Europe/Berlin"], ["--link", "Design=https://example.org/d"]])
        more += draw.choice([[], ["--matrix", "topk=1,2,4", "--baseline", "topk=1"]])
        self.say("start", "moe", "--prefix", "MOE", *(word for m in metrics for word in ("--metric", m)), *more)
        predicate = "compared: {axis: mode, values: [base, new]}"
        self.say("criteria", "--add", "Is new different?", "--predicate", predicate)
        self.run()

    def prose(self) -> list[str]:
        names = self.draw.sample(["--hypothesis", "--interpretation", "--next", "--title"], self.draw.randint(0, 3))
        texts = [self.draw.choice(TEXTS) for _ in names]
        pairs = [(n, text.splitlines()[0] if n == "--title" else text) for n, text in zip(names, texts, strict=True)]
        return [word for pair in pairs for word in pair]

    def entry(self, *kinds: list[str]) -> str:
        """One of the entries of these kinds; all kinds where none is given."""
        return self.draw.choice([e for kind in kinds or (self.measured, self.compared, self.noted) for e in kind])

    def bench(self, mode: str) -> list[str]:
        return ["--", "sh", "bench.sh", "--mode", mode, "--size", str(self.draw.choice([1, 1, 2]))]

    # -- moves -------------------------------------------------------------------------------------

    def run(self) -> None:
        draw = self.draw
        options = [
            ["--repeat", "2"],
            ["--label", "Baseline"],
            ["--config", "ep=4"],
            ["--env", "A=b"],
            ["--discard", "1"],
        ]
        more = draw.choice([[], *options])
        relation = draw.choice(["", "", "--continues", "--supersedes", "--completes"]) if self.measured else ""
        more = [*more, *([relation, self.entry(self.measured)] if relation else []), *self.prose()]
        command = ["--", "sh", "-c", draw.choice(PRINTS), "--topk", str(draw.randint(1, 3))]
        self.measured.append(self.say("run", *more, *command))

    def run_again(self) -> None:
        self.say("run", "--id", self.entry(self.measured, self.compared), "--repeat", "2", *self.bench("base"))

    def base_and_noise(self) -> None:
        self.measured.append(self.say("run", "--label", "Baseline", "--repeat", "2", *self.bench("base")))
        self.measured.append(self.say("run", "--noise", "--repeat", "6", *self.bench("base")))

    def ab(self) -> None:
        draw = self.draw
        pairs = draw.choice([["--pairs", str(draw.randint(2, 9))], ["--max-pairs", draw.choice(["8", "10", "16"])]])
        effect = draw.choice([[], [], ["--min-effect", "0.02"]])
        more = ["--supersedes", self.entry(self.compared)] if self.compared and draw.random() < 0.3 else []
        question = ["--axis", f"mode={draw.choice(SIDES)}", *effect, "--new", *self.bench("{axis}")]
        self.compared.append(self.say("ab", *more, *pairs, "--seed", str(draw.randrange(1000)), *question))

    def ab_more(self) -> None:
        """Pairs, then more pairs of the same question."""
        question = ["--axis", f"mode={self.draw.choice(SIDES)}"]
        command = self.bench("{axis}")
        name = self.say("ab", "--max-pairs", "4", "--seed", "3", *question, "--new", *command)
        self.compared.append(name)
        self.say("ab", "--id", name, "--max-pairs", str(self.draw.choice([4, 6])), *question, *command)

    def ab_code(self) -> None:
        self.shell("sed -i 's/e=0;;/e=9000;;/' bench.sh")
        self.compared.append(
            self.say("ab", "--code", "main", "WORK", "--pairs", "3", "--seed", "5", *self.bench("base"))
        )

    def other_code(self) -> None:
        self.shell(f"sed -i 's/^# version.*/# version {len(self.lines)}/' bench.sh")
        self.commit("Other code")

    def sweep(self) -> None:
        sets = self.draw.choice([[], ["--set", "topk=1,2"], ["--set", "ep=1"], ["--set", "repeats=2"]])
        self.measured.append(self.say("sweep", "grid", "--new", *sets))

    def note(self) -> None:
        kind = self.draw.choice(["note", "decision", "incident"])
        prose = self.prose()
        prose += [] if "--title" in prose else ["--title", "A title"]
        field = ["--field", f"Risk={self.draw.choice(TEXTS)}"]
        self.noted.append(self.say("note", "--kind", kind, *prose, *field))

    def plan(self) -> None:
        commands = ["--command", "Baseline: echo RESULT tflops=1", "--command", "Int8: echo RESULT tflops=1.25"]
        name = self.say("note", "--plan", "Later", *commands)
        if self.draw.random() < 0.5:
            self.say("run", "--id", name)
        self.noted.append(name)

    def edit(self) -> None:
        confidence = ["--confidence", "replicated", "--reason", "seen on another host"]
        more = self.draw.choice([[], confidence, ["--state", "blocked"], ["--append"]])
        text = f"Step {len(self.lines)}.\n\n{self.draw.choice(TEXTS)}"
        self.say("edit", self.entry(), "--next", text, *more)

    def void(self) -> None:
        state = self.draw.choice(["void", "void", "abandoned"])
        why = ["--reason", "the wrong branch"] if state == "void" else []
        self.say("edit", self.entry(), "--state", state, *why)

    def edit_by_hand(self) -> None:
        self.shell(f"sed -i '/^title: /s/$/ (mended)/' logbooks/moe/entries/{self.entry()}*.yaml")
        self.say("render")

    def criterion(self) -> None:
        target = self.draw.choice(["{metric: tflops, at_least: 2}", "{metric: tflops, at_least: 200}"])
        self.say("criteria", "--add", f"A goal {self.draw.randint(1, 99)}", "--predicate", f"target: {target}")
        self.say("criteria", "--met", "1", "--evidence", self.entry(), "--by", "Ada")

    def header(self) -> None:
        number = str(len(self.lines))
        self.say("baseline", "--config", f"topk={number}", "--reason", "the default")
        self.say("status", "--summary", f"After {number} moves.\n\n{self.draw.choice(TEXTS)}")
        self.say("link", f"acme/moe#{number}", "--as", "Prior issue")

    def side_by_side(self) -> None:
        base, other = self.entry(self.measured), self.entry(self.measured)
        self.say("compare", base, other)

    def detached(self) -> None:
        name = self.say("run", "--detach", *self.bench("new"))
        self.say("wait", name)
        self.measured.append(name)

    def detached_ab(self) -> None:
        name = self.say(
            "ab", "--detach", "--pairs", "3", "--seed", "7", "--axis", "mode=base,new", "--new", *self.bench("{axis}")
        )
        self.say("wait")
        self.compared.append(name)

    def cancelled(self) -> None:
        name = self.say("run", "--detach", "--", "sh", "-c", "echo RESULT tflops=1; exec sleep 100")
        self.shell("sleep 1")
        self.say("cancel", name)
        self.say("wait", name)
        self.noted.append(name)

    def keep_or_discard(self) -> None:
        name = self.say("run", "--title", "An idea", *self.bench("new"))
        self.measured.append(name)
        why = ["--why", self.draw.choice(TEXTS)]
        self.noted.append(self.say(self.draw.choice(["keep", "discard"]), name, *why))

    def artifacts(self) -> None:
        script = f"echo {self.seed} > out.txt; echo RESULT tflops=2.5 topk=2"
        self.measured.append(self.say("run", "--keep", "out.txt", "--input", "recipes", "--", "sh", "-c", script))

    def curve(self) -> None:
        script = f"for s in 1 2 3 4 5; do echo METRIC loss=0.$(((s * 7 + {self.seed}) % 9)) step=$s; done"
        self.measured.append(self.say("run", "--label", "Curve", "--", "sh", "-c", script))

    def cite(self) -> None:
        base, other = self.entry(self.measured), self.entry(self.measured)
        self.shell(f"echo 'It makes [[{base} tflops]], [[{other} vs {base} tflops]].' >> results.md")
        self.say("cite", "results.md")

    def publish(self) -> None:
        self.say("publish", "--file", f"../out/published-{len(self.lines)}.html", "--no-logs")

    def mcp(self) -> None:
        calls: list[tuple[str, dict[str, object]]] = [
            ("status", {}),
            ("show", {"id": self.entry()}),
            ("search", {"words": ["tflops"]}),
            ("compare", {"references": [self.entry(self.measured), self.entry(self.measured)]}),
            ("plan", {"title": "By an agent", "command": ["Baseline: echo RESULT tflops=1"]}),
            ("record", {"action": "note", "text": "Seen by an agent", "next": self.draw.choice(TEXTS)}),
            ("run", {"argv": ["sh", "bench.sh", "--mode", "new", "--size", "1"], "title": "Run by an agent"}),
            ("wait", {"timeout_s": 30}),
            ("status", {"budget": 3000}),
        ]
        words = [f"{name} {json.dumps(given)}" for name, given in calls]
        self.noted.append(self.shell(shlex.join(["mcp", *words]), 3))

    def reproduce(self) -> None:
        name = self.say("run", *self.bench("old"))
        self.measured.append(name)
        self.say("reproduce", name)

    def second_logbook(self) -> None:
        self.say("start", "other", "--prefix", "OT", "--metric", "time_s:min:s")
        self.say("note", "-L", "OT", "--title", "In the other one")
        self.say("run", "-L", "OT", "--", "echo", "RESULT", "time_s=0.25")

    def merge_branches(self) -> None:
        self.commit("Work")
        self.shell("git checkout -q -b side")
        self.noted.append(self.say("note", "--title", "On a branch"))
        self.commit("On a branch")
        self.shell("git checkout -q main")
        self.noted.append(self.say("note", "--title", "On main"))
        self.commit("On main")
        self.shell("git merge -q -m Merged side || true")
        self.say("render")
        self.commit("Merged")
        self.shell("git branch -q -D side")

    def merge_clones(self) -> None:
        """Two clones give out the same number."""
        self.commit("Work")
        self.shell("git clone -q . ../theirs")
        for folder in ("../theirs", "../work"):
            self.shell(f"cd {folder}")
            self.say("note", "--title", f"In {folder}")
            self.commit("Work")
        self.shell("git pull -q --no-rebase ../theirs main || true")
        self.say("doctor", "--fix")
        self.say("render")
        self.commit("Joined")

    def close(self) -> None:
        self.say("close", "--unmet", "--conclusion", self.draw.choice(TEXTS), "--limitation", "one host", "--local")


COMMON = (Story.run, Story.run, Story.ab, Story.note, Story.edit, Story.void, Story.run_again, Story.other_code)
# Each of them is in every third story.
FEATURES = (
    (Story.artifacts, Story.ab_more, Story.keep_or_discard, Story.plan, Story.cite, Story.header, Story.detached),
    (Story.curve, Story.mcp, Story.ab_code, Story.criterion, Story.side_by_side, Story.sweep, Story.publish),
    (
        Story.detached_ab,
        Story.cancelled,
        Story.reproduce,
        Story.base_and_noise,
        Story.edit_by_hand,
        Story.merge_branches,
    ),
)
LAST = (None, Story.close, Story.merge_clones, Story.second_logbook)


def story(seed: int, moves: int = 7) -> list[tuple[int, str]]:
    """The lines of a story, each with the minutes that pass before it."""
    told = Story(seed)
    told.start()
    deck = [*FEATURES[seed % len(FEATURES)], *told.draw.choices(COMMON, k=moves)]
    told.draw.shuffle(deck)
    for move in deck:
        move(told)
    told.commit("The logbook")
    if (last := LAST[seed % len(LAST)]) is not None:
        last(told)
    return told.lines


def continuation(ids: list[str]) -> list[tuple[int, str]]:
    """What is done with a store that is there already."""
    told = Story(0)
    told.noted.append(told.say("note", "--title", "The last", "--next", "Nothing"))
    told.say("run", "--hypothesis", "It counts.", "--", "sh", "-c", "echo RESULT tflops=2.5 topk=2")
    if ids:
        told.say("edit", ids[0], "--interpretation", "As expected.")
        told.say("edit", ids[-1], "--state", "void", "--reason", "the wrong branch")
    pairs = ["--axis", "topk=1,2", "--seed", "3", "--pairs", "2", "--new"]
    told.say("ab", *pairs, "--", "echo", "RESULT", "tflops={axis}.5", "time_s=0.{axis}")
    told.plan()
    told.say("status", "--summary", "It goes well.")
    told.say("status")
    told.say("close", "--reopen")
    return told.lines
