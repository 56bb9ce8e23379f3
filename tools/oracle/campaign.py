"""A random campaign, which its seed makes again: what somebody does with a logbook in a night, through the command
line. What runs measure follows from the number of the entry, of the run and of the campaign."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli, FixedClock
from tools.oracle.bench import BENCH, RECIPE
from tools.oracle.enumerator import read_entries

SIDES = ("new", "old", "same")
METRICS = (("tflops:max:TF/s",), ("time_s:min:s",), ("tflops:max:TF/s", "time_s:min:s"))
WATCHED = "- {name: loss, direction: min, primary: false}\n"
BY_SIZE = ["repeats=8", "order=interleaved", "mode=base,new", "size=1,2"]
NEVER = 10**9


class Campaign:
    """A logbook `moe` in a repository, what was done to it (`done`), and what it is asked at its end."""

    def __init__(self, cli: Cli, folder: Path, clock: FixedClock, patch: pytest.MonkeyPatch, seed: int) -> None:
        self.cli, self.folder, self.clock, self._patch = cli, folder, clock, patch
        self.chance = random.Random(seed)
        self.seed = seed
        self.book = folder / "logbooks/moe"
        self.done: list[str] = []
        self._questions: list[list[str]] = []
        self._version = 0

    # -- how it goes -------------------------------------------------------------------------------

    def make(self, moves: int, most_runs: int) -> None:
        """Start the logbook, then so many moves, of which none is made once there are that many runs."""
        self._start()
        kinds = self._kinds()
        self._baseline()
        self._ab()
        for _ in range(moves):
            if sum(1 for _ in self.book.glob("runs/*/*/run.json")) > most_runs:
                break
            move = self.chance.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])[0]
            move()

    def make_known(self) -> None:
        """A campaign in which every rule of comparisons matters: noise beside an A/B that a second sitting replicates
        and a note supersedes; another entry about the same; a try that was taken back; other code; a worse and an open
        question; sides without a design."""
        self._start(effects={"new": 20000, "old": -30000, "same": 0}, noise=12000, metrics=METRICS[0])
        ask = ("ab", "--axis", "mode=base,new")
        drawn = ("--seed", "3", "--max-pairs")
        self.say("run", "--label", "Baseline", "--repeat", "2", *self._bench("base"))
        self.say("run", "--label", "Again", "--repeat", "2", *self._bench("new"))
        self.say(*ask, *drawn, "10", *self._bench("{axis}"))
        self.say("run", "--id", "MOE-002", "--repeat", "2", *self._bench("base"))
        self.clock.tick(20)
        self.say("ab", "--id", "MOE-002", "--max-pairs", "10")
        self.say("note", "--title", "Better said", "--supersedes", "MOE-002")
        self.say(*ask, "--new", *drawn, "4", *self._bench("{axis}"))
        self.say(*ask, "--new", *drawn, "4", *self._bench("{axis}"))
        self.say("edit", "MOE-005", "--state", "void", "--reason", "the wrong branch")
        self.say("ab", "--axis", "mode=base,old", "--seed", "8", "--max-pairs", "10", *self._bench("{axis}"))
        self.say("ab", "--axis", "mode=base,same", *drawn, "10", *self._bench("{axis}", 2))
        self._other_code()
        self.say(*ask, *drawn, "4", *self._bench("{axis}"))

    def _kinds(self) -> list[tuple[Callable[[], None], int]]:
        return [
            (self._ab, 6),
            (self._again, 6),
            (self._go_on, 3),
            (self._baseline, 2),
            (self._noise, 1),
            (self._extra_runs, 3),
            (self._sweep, 3),
            (self._supersede, 2),
            (self._void, 3),
            (self._contrast, 2),
            (self._edit_entry, 1),
            (self._edit_view, 1),
            (self._other_code, 1),
            (self._merge_branches, 1),
            (self._merge_clones, 2),
        ]

    def say(self, *words: str, may_fail: bool = False) -> Any:
        """Type a command some minutes later; its answer."""
        self.clock.tick(self.chance.choice([1, 3, 15]))
        self.done.append(" ".join(words))
        answer = self.cli(*words)
        assert may_fail or answer.code == 0, (self.seed, self.done, answer.out, answer.err)
        return answer

    def git(self, *words: str, cwd: Path | None = None, check: bool = True) -> None:
        subprocess.run(["git", *words], cwd=cwd or self.folder, check=check, capture_output=True, timeout=60)

    def _start(self, **known: Any) -> None:
        """The repository and the logbook; what is not `known` is drawn."""
        draw = self.chance
        effects = {side: draw.choice([-60000, -20000, -9000, 0, 4000, 12000, 30000, 60000]) for side in SIDES}
        effects |= {"same": 0, **known.get("effects", {}), "base": 0}
        noise, order = draw.choice([2500, 6000, 12000, 30000]), draw.choice([0, 0, 50000])
        fails, zeros = draw.choice([NEVER, NEVER, 41]), draw.choice([NEVER, NEVER, 37])
        if known:
            noise, order, fails, zeros = known["noise"], 0, NEVER, NEVER
        text = BENCH.format(
            seed=self.seed,
            cases=" ".join(f"{side}) e={effect};;" for side, effect in effects.items()),
            noise=noise,
            order=order,
            fails=fails,
            zeros=zeros,
        )
        (self.folder / "bench.sh").write_text(text)
        metrics = known.get("metrics") or draw.choice(METRICS)
        (self.folder / "recipes").mkdir()
        (self.folder / "recipes/modes.yaml").write_text(RECIPE.format(metric=metrics[0].split(":")[0]))
        self.git("init", "-q", "-b", "main")
        self._commit("The benchmark")
        self.say("start", "moe", "--prefix", "MOE", *(word for m in metrics for word in ("--metric", m)))
        if not known and draw.random() < 0.4:
            header = self.book / "logbook.yaml"
            text = header.read_text()
            at = re.search(r"^metrics:\n(?:[- ].*\n)*", text, re.MULTILINE)
            assert at is not None
            header.write_text(text[: at.end()] + WATCHED + text[at.end() :])
        for side, more in (("new", ""), ("old", ", outcomes: [better]"), ("same", "")):
            predicate = f"compared: {{axis: mode, values: [base, {side}], settled: true{more}}}"
            self.say("criteria", "--add", f"Is {side} different?", "--predicate", predicate)

    def _commit(self, message: str, folder: Path | None = None) -> None:
        self.git("add", "-A", cwd=folder)
        self.git("commit", "-q", "--allow-empty", "-m", message, cwd=folder)

    # -- what it consists of -----------------------------------------------------------------------

    def entries(self, *, compared: bool) -> list[str]:
        """The entries with runs that state a comparison, or do not."""
        found = read_entries(self.book).items()
        return [i for i, e in found if ("comparison" in e) is compared and (self.book / "runs" / e["name"]).exists()]

    def _bench(self, mode: str, size: int = 1) -> list[str]:
        return ["--", "sh", "bench.sh", "--mode", mode, "--size", str(size)]

    def _question(self) -> list[str]:
        draw = self.chance
        values = ["base", draw.choice(SIDES)]
        if draw.random() < 0.15:
            values.reverse()
        effect = draw.choice([[], [], [], ["--min-effect", "0.02"]])
        size = draw.choice([1, 1, 2])
        return ["--axis", f"mode={','.join(values)}", *effect, *self._bench("{axis}", size)]

    def _pairs(self) -> list[str]:
        draw = self.chance
        return draw.choice([["--pairs", str(draw.randint(2, 12))], ["--max-pairs", str(draw.choice([4, 10, 12, 20]))]])

    def _asked(self, question: list[str], *more: str) -> None:
        seed = ["--seed", str(self.chance.randrange(10**6))]
        answer = self.say("ab", *more, *self._pairs(), *seed, *question, may_fail=True)
        # An entry has its own number of pairs.
        is_other = answer.code == 2 and "judged" in answer.err
        assert is_other or answer.code in (0, 3) or _nothing(answer), (self.seed, self.done, answer.out, answer.err)

    def _ab(self) -> None:
        question = self._question()
        self._questions.append(question)
        self._asked(question)

    def _again(self) -> None:
        """The same question: in its entry, or in a new one."""
        more = ["--new"] if self.chance.random() < 0.4 else []
        if more and self.chance.random() < 0.5:
            more += ["--supersedes", self.chance.choice(self.entries(compared=True))]
        self._asked(self.chance.choice(self._questions), *more)

    def _go_on(self) -> None:
        able = self.entries(compared=True)
        stated = {i: e for i, e in read_entries(self.book).items() if i in able}
        able = [
            i
            for i, e in stated.items()
            if not {"state", "recipe"} & e.keys() and not e["comparison"]["design"].get("fixed")
        ]
        if able:
            entry = self.chance.choice(able)
            pairs = ["--max-pairs", str(self.chance.randint(1, 12))]
            answer = self.say("ab", "--id", entry, *pairs, may_fail=True)
            assert answer.code in (0, 3) or _nothing(answer), (self.seed, self.done, answer.out, answer.err)

    def _baseline(self) -> None:
        mode = self.chance.choice(["base", "base", "new"])
        repeat = str(self.chance.randint(1, 3))
        self.say("run", "--label", "Baseline", "--repeat", repeat, *self._bench(mode), may_fail=True)

    def _noise(self) -> None:
        self.say("run", "--noise", "--repeat", "4", *self._bench("base"), may_fail=True)

    def _extra_runs(self) -> None:
        """Runs of a side in the entry of a comparison, of which they are no part."""
        entry = self.chance.choice(self.entries(compared=True))
        self.say(
            "run", "--id", entry, "--repeat", "2", *self._bench(self.chance.choice(["base", "new"])), may_fail=True
        )

    def _sweep(self) -> None:
        design = self.chance.choice(
            [["repeats=8", "order=interleaved"], BY_SIZE, ["repeats=2"], ["size=1"], ["size=1,2"]]
        )
        sets = [word for one in design for word in ("--set", one)]
        answer = self.say("sweep", "modes", "--new", *sets, may_fail=True)
        assert answer.code in (0, 1), (self.seed, self.done, answer.out, answer.err)

    def _supersede(self) -> None:
        entry = self.chance.choice(self.entries(compared=True))
        self.say("note", "--title", "Better said", "--supersedes", entry)

    def _void(self) -> None:
        entry = self.chance.choice(self.entries(compared=self.chance.random() < 0.8))
        if self.chance.random() < 0.4:
            self.say("edit", entry, "--state", "void", "--reason", "the wrong branch", may_fail=True)
        else:
            state = self.chance.choice(["abandoned", "void", "computed"])
            self.say("edit", entry, "--state", state, may_fail=True)

    def _contrast(self) -> None:
        """Sides that no design drew, set side by side."""
        beside = self.entries(compared=False)
        entry, other = self.chance.choice(beside), self.chance.choice(beside)
        if entry != other:
            self.say("compare", entry, other, may_fail=True)

    def _edit_entry(self) -> None:
        """By hand, in its file."""
        entry = self.chance.choice(self.entries(compared=True))
        path = self.book / f"entries/{read_entries(self.book)[entry]['name']}.yaml"
        path.write_text(re.sub(r"(?m)^title: .*(\n  .*)*", "title: A better title", path.read_text(), count=1))
        self.say("render")

    def _edit_view(self) -> None:
        """By hand, in the view."""
        entry = self.chance.choice(self.entries(compared=True))
        self.say("edit", entry, "--interpretation", "As expected.")
        view = self.book.with_suffix(".md")
        view.write_text(view.read_text().replace("As expected.", "Surprising."))
        self.say("render")

    # -- code and branches -------------------------------------------------------------------------

    def _other_code(self) -> None:
        self._version += 1
        self.done.append("(other code)")
        path = self.folder / "bench.sh"
        path.write_text(re.sub("# version .*", f"# version {self._version}", path.read_text()))
        self._commit("Other code")

    def _merge_branches(self) -> None:
        self.done.append("(two branches, merged)")
        self._commit("Work")
        self.git("checkout", "-q", "-b", "side")
        self._asked(self.chance.choice(self._questions))
        self._commit("On a branch")
        self.git("checkout", "-q", "main")
        self.say("run", "--label", "Baseline", *self._bench("base"), may_fail=True)
        self._commit("On main")
        # Both sides brought the first lines of the view up to date, which then conflict.
        self.git("merge", "-q", "-m", "Merged", "side", check=False)
        self.say("render")
        self._commit("Merged")
        self.git("branch", "-q", "-D", "side")

    def _merge_clones(self) -> None:
        """Two clones gave out the same ID: both stay, under their whole names."""
        theirs = self.folder.parent / "theirs"
        self.done.append("(two clones, merged)")
        self._commit("Work")
        subprocess.run(["rm", "-rf", str(theirs)], check=True)
        self.git("clone", "-q", ".", str(theirs))
        self._patch.chdir(theirs)
        self._asked(self.chance.choice(self._questions))
        self._patch.chdir(self.folder)
        self._asked(self.chance.choice(self._questions))
        for folder in (self.folder, theirs):
            self._commit("Work", folder)
        self.git("fetch", "-q", str(theirs), "main")
        self.git("merge", "-q", "-m", "Joined", "FETCH_HEAD", check=False)
        self.say("render")
        self._commit("Joined")


def _nothing(answer: Any) -> bool:
    """Whether an A/B ended since none of its pairs counts: a zero far from the other values."""
    return answer.code == 1 and "nothing can be compared" in answer.err
