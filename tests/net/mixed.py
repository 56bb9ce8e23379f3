"""A random logbook of everything but comparisons: notes, plans, decisions, failures, sweeps, odd texts and results. Its
seed makes it again. What comparisons are made of is in tests/oracle/campaign.py."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

from tests.conftest import Cli, FixedClock

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
    "echo Traceback; echo 'ValueError: a shape' >&2; exit 3",
    "echo RESULT tflops=2; kill -9 $$",
)
RECIPE = """\
name: grid
question: Which topk?
command: [sh, -c, 'echo RESULT tflops=$(({topk} * 3 + {ep})).5', --topk, '{topk}', --ep, '{ep}']
axes: {topk: [1, 2, 4], ep: [1, 2]}
metrics: [tflops]
"""


class Mixed:
    """Two logbooks in a repository, and what was done to them."""

    def __init__(self, cli: Cli, folder: Path, clock: FixedClock, seed: int) -> None:
        self.cli, self.folder, self.clock = cli, folder, clock
        self.draw = random.Random(f"mixed {seed}")
        self.done: list[str] = []

    def say(self, *words: str) -> int:
        self.clock.tick(self.draw.choice([1, 3, 15, 600]))
        self.done.append(" ".join(words))
        answer = self.cli(*words)
        code: int = answer.code
        return code

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.folder, check=True, capture_output=True, timeout=60)

    def make(self, moves: int) -> None:
        """Start the logbooks, then so many moves."""
        draw = self.draw
        (self.folder / "recipes").mkdir()
        (self.folder / "recipes/grid.yaml").write_text(RECIPE)
        (self.folder / "bench.py").write_text("print('RESULT tflops=1.5')\n")
        self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "A benchmark")
        more = ["--goal", draw.choice(TEXTS), "--constraint", "one host", "--stop", "Nothing gains more than 1%."]
        more += draw.choice([[], ["--zone", "Europe/Berlin"], ["--link", "Design=https://example.org/d"]])
        assert self.say("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s", *more) == 0, self.done
        if draw.random() < 0.3:
            assert self.say("start", "other", "--prefix", "OT", "--metric", "time_s:min:s") == 0
            self.say("-L", "OT", "note", "--title", "In the other one")
        kinds = [self._run, self._run, self._run, self._note, self._edit, self._plan, self._void, self._criterion]
        kinds += [self._sweep, self._header, self._hand]
        for _ in range(moves):
            draw.choice(kinds)()
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "The logbook")

    def _entries(self) -> list[str]:
        return sorted(path.stem for path in self.folder.glob("logbooks/moe/entries/*.yaml"))

    def _prose(self) -> list[str]:
        names = self.draw.sample(["--hypothesis", "--interpretation", "--next", "--title"], self.draw.randint(0, 3))
        texts = [self.draw.choice(TEXTS) for _ in names]
        return [
            word
            for name, text in zip(names, texts, strict=True)
            for word in (name, text.splitlines()[0] if name == "--title" else text)
        ]

    def _run(self) -> None:
        draw = self.draw
        more = draw.choice([[], [], ["--repeat", "2"], ["--label", "Baseline"], ["--config", "ep=4"], ["--env", "A=b"]])
        earlier = self._entries()
        if earlier and draw.random() < 0.3:
            more = [*more, draw.choice(["--continues", "--supersedes", "--id"]), draw.choice(earlier)]
        script = draw.choice(PRINTS)
        self.say("-L", "MOE", "run", *more, *self._prose(), "--", "sh", "-c", script, "--topk", str(draw.randint(1, 3)))

    def _note(self) -> None:
        kind = self.draw.choice(["note", "decision", "incident"])
        prose = self._prose()
        prose += [] if "--title" in prose else ["--title", "A title"]
        self.say("-L", "MOE", "note", "--kind", kind, *prose, "--field", f"Risk={self.draw.choice(TEXTS)}")

    def _edit(self) -> None:
        if earlier := self._entries():
            more = self.draw.choice([[], ["--confidence", "replicated"], ["--state", "blocked"], ["--append"]])
            self.say("-L", "MOE", "edit", self.draw.choice(earlier), "--next", self.draw.choice(TEXTS), *more)

    def _plan(self) -> None:
        self.say("-L", "MOE", "plan", "--title", "Later", "--command", "Baseline: echo RESULT tflops=1", *self._prose())

    def _void(self) -> None:
        if earlier := self._entries():
            self.say("-L", "MOE", "void", self.draw.choice(earlier), "--reason", "the wrong branch")

    def _criterion(self) -> None:
        target = self.draw.choice(["{metric: tflops, above: 2}", "{metric: tflops, above: 200}"])
        predicate = self.draw.choice([[], ["--predicate", f"target: {target}"]])
        self.say("-L", "MOE", "criteria", "--add", f"A goal {self.draw.randint(1, 99)}", *predicate)

    def _sweep(self) -> None:
        sets = self.draw.choice([[], ["--set", "topk=1,2"], ["--set", "ep=1"], ["--set", "repeats=2"]])
        self.say("-L", "MOE", "sweep", "grid", "--new", *sets)

    def _header(self) -> None:
        words = self.draw.choice(
            [
                ["baseline", "topk=2", "--reason", "the default"],
                ["status", "--summary", self.draw.choice(TEXTS)],
                ["link", "https://example.org/a", "--as", "Paper"],
                ["compare", "MOE-000", "MOE-001", "--save", "MOE-000"],
            ]
        )
        self.say("-L", "MOE", *words)

    def _hand(self) -> None:
        """Somebody edits the view, or the file of an entry, also wrongly."""
        view = self.folder / "logbooks/moe.md"
        entry = self.draw.choice(self._entries() or [""])
        move = self.draw.randint(0, 3)
        if move == 0:
            view.write_text(view.read_text().replace("faster", "slower"))
        elif move == 1 and entry:
            path = self.folder / f"logbooks/moe/entries/{entry}.yaml"
            path.write_text(path.read_text() + "extra: of a person\n")
        elif move == 2:
            view.write_text(view.read_text() + "\nA line below everything.\n")
            self.say("-L", "MOE", "absorb")
