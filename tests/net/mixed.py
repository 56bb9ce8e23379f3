"""A random logbook of everything but comparisons: notes, plans, decisions, failures, sweeps, odd texts and results. Its
seed makes it again. What comparisons are made of is in tests/oracle/campaign.py."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import yaml

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

    def say(self, *words: str, codes: tuple[int, ...] = (0,)) -> None:
        """Type a command some minutes later; it exits with one of these codes."""
        self.clock.tick(self.draw.choice([1, 3, 15, 600]))
        self.done.append(" ".join(words))
        answer = self.cli(*words)
        assert answer.code in codes, (self.done, answer.code, answer.out, answer.err)

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
        self.say("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s", *more)
        if draw.random() < 0.3:
            self.say("start", "other", "--prefix", "OT", "--metric", "time_s:min:s")
            self.say("-L", "OT", "note", "--title", "In the other one")
        kinds = [self._run, self._run, self._run, self._note, self._edit, self._plan, self._void, self._criterion]
        kinds += [self._sweep, self._header, self._hand]
        for _ in range(moves):
            draw.choice(kinds)()
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "The logbook")

    def _entries(self) -> list[str]:
        return sorted(path.stem for path in self.folder.glob("logbooks/moe/entries/*.yaml"))

    def _entry(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = yaml.safe_load((self.folder / f"logbooks/moe/entries/{name}.yaml").read_text())
        return found

    def _standing(self) -> list[str]:
        return [name for name in self._entries() if self._entry(name).get("state") != "void"]

    def _measured(self) -> list[str]:
        """Entries with rows that no design drew."""
        with_rows = {
            path.parent.parent.name
            for path in self.folder.glob("logbooks/moe/runs/*/*/run.json")
            if json.loads(path.read_text()).get("rows")
        }
        return [name for name in self._standing() if name in with_rows and "comparison" not in self._entry(name)]

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
        prose = self._prose()
        if earlier and draw.random() < 0.3:
            relation = draw.choice(["--continues", "--supersedes", "--id"])
            more = [*more, relation, draw.choice(earlier)]
            prose = [] if relation == "--id" else prose
        script = draw.choice(PRINTS)
        codes = (3,) if "exit 3" in script else (137,) if "kill -9" in script else (0,)
        command = ["--", "sh", "-c", script, "--topk", str(draw.randint(1, 3))]
        self.say("-L", "MOE", "run", *more, *prose, *command, codes=codes)

    def _note(self) -> None:
        kind = self.draw.choice(["note", "decision", "incident"])
        prose = self._prose()
        prose += [] if "--title" in prose else ["--title", "A title"]
        self.say("-L", "MOE", "note", "--kind", kind, *prose, "--field", f"Risk={self.draw.choice(TEXTS)}")

    def _edit(self) -> None:
        if earlier := self._entries():
            confidence = ["--confidence", "replicated", "--reason", "seen on another host"]
            more = self.draw.choice([[], confidence, ["--state", "blocked"], ["--append"]])
            text = f"Step {len(self.done)}.\n\n{self.draw.choice(TEXTS)}"
            self.say("-L", "MOE", "edit", self.draw.choice(earlier), "--next", text, *more)

    def _plan(self) -> None:
        self.say("-L", "MOE", "plan", "--title", "Later", "--command", "Baseline: echo RESULT tflops=1", *self._prose())

    def _void(self) -> None:
        if standing := self._standing():
            self.say("-L", "MOE", "edit", self.draw.choice(standing), "--state", "void", "--reason", "the wrong branch")

    def _criterion(self) -> None:
        target = self.draw.choice(["{metric: tflops, at_least: 2}", "{metric: tflops, at_least: 200}"])
        predicate = self.draw.choice([[], ["--predicate", f"target: {target}"]])
        self.say("-L", "MOE", "criteria", "--add", f"A goal {self.draw.randint(1, 99)}", *predicate)

    def _sweep(self) -> None:
        sets = self.draw.choice([[], ["--set", "topk=1,2"], ["--set", "ep=1"], ["--set", "repeats=2"]])
        self.say("-L", "MOE", "sweep", "grid", "--new", *sets)

    def _header(self) -> None:
        number = str(len(self.done))
        words = [
            ["baseline", "--config", f"topk={number}", "--reason", "the default"],
            ["status", "--summary", f"After {number} moves.\n\n{self.draw.choice(TEXTS)}"],
            ["link", f"acme/moe#{number}", "--as", "Prior issue"],
        ]
        if len(measured := self._measured()) > 1:
            one, other = sorted(self.draw.sample(measured, 2))
            words.append(["compare", one, other, "--save", other])
        self.say("-L", "MOE", *self.draw.choice(words))

    def _hand(self) -> None:
        """Somebody edits the view, or the file of an entry, also wrongly."""
        view = self.folder / "logbooks/moe.md"
        entry = self.draw.choice(self._entries() or [""])
        path = self.folder / f"logbooks/moe/entries/{entry}.yaml"
        move = self.draw.randint(0, 2)
        if move == 0:
            view.write_text(view.read_text().replace("faster", "slower"))
        elif move == 1 and entry and "extra" not in self._entry(entry):
            path.write_text(path.read_text() + "extra: of a person\n")
        elif move == 2:
            view.write_text(view.read_text() + "\nA line below everything.\n")
            self.say("-L", "MOE", "render", "--absorb", codes=(0, 1))
