"""Two clones that gave out one number: git joins them without a conflict, nothing is renumbered, and both are shown and
named by their whole names, for good."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest

from tests.breadth import wide
from tests.conftest import Cli, FixedClock
from tests.contract.e2e.e2e_support import LOGBOOK
from tests.contract.running.executors.conftest import wait_for
from tests.contract.store.clones import WAYS, Clone, begun
from tests.seams import set_size
from tests.stored import at

pytestmark = pytest.mark.slow


@pytest.fixture
def ours(cli: Cli, clock: FixedClock, folder: Path) -> Clone:
    return begun(cli, clock, folder)


@pytest.fixture
def theirs(ours: Clone) -> Clone:
    return ours.cloned("theirs")


@pytest.fixture(params=WAYS)
def joined(request: pytest.FixtureRequest, ours: Clone, theirs: Clone) -> Clone:
    """Both made run 2 of MOE-000, and an experiment MOE-001 that a note continues."""
    for clone, who, value in ((ours, "ours", 2), (theirs, "theirs", 3)):
        (clone.place / "bench.py").write_text(f"print('RESULT tflops={value}')\n")
        clone.done("run", "--id", "MOE-000", "--label", who, "--", "python", "bench.py")
        clone.done("run", "--title", who, "--", "echo", f"RESULT tflops={value * 10}")
        clone.done("note", "--title", f"{who} goes on", "--continues", "MOE-001")
        clone.git("restore", "bench.py")
        clone.commit()
    ours.take(theirs, request.param)
    ours.done("render")
    return ours


def names(clone: Clone) -> tuple[str, str]:
    """Which MOE-001 is ours, and which is theirs."""
    found = {title: entry for entry, title in clone.listed().items()}
    assert sorted(found) == ["ours", "ours goes on", "shared", "theirs", "theirs goes on"]
    return found["ours"], found["theirs"]


def test_nothing_is_lost_and_both_are_shown(joined: Clone) -> None:
    mine, other = names(joined)
    assert mine != other
    assert {mine.partition(".")[0], other.partition(".")[0]} == {"MOE-001"}
    assert (joined.values(mine), joined.values(other)) == ({"1": [20.0]}, {"1": [30.0]})
    runs = joined.values("MOE-000")
    assert sorted(runs.values()) == [[1.0], [2.0], [3.0]]
    assert [number.partition(".")[0] for number in runs] == ["1", "2", "2"]
    for title, entry in (("ours", mine), ("theirs", other)):
        note = next(i for i, said in joined.listed().items() if said == f"{title} goes on")
        assert joined.done("show", note, "--json").data["continues"] == entry
    assert joined.done("doctor").out.splitlines()[-1].endswith("nothing is wrong")
    assert joined.git("status", "--porcelain") == ""
    assert joined.done("run", "--title", "next", "--json", "--", "true").data["id"] == "MOE-003"


def test_every_reader_shows_both_by_their_whole_names(joined: Clone) -> None:
    whole = names(joined)
    first, second = (n for n in joined.values("MOE-000") if "." in n)
    notes = [entry for entry, title in joined.listed().items() if title.endswith("goes on")]
    for name in notes:
        joined.done("edit", name, "--next", f"look closer at {name[-5:]}")
    status = joined.done("status").out
    assert all(f"next, from {name}: look closer at {name[-5:]}" in status for name in notes)
    for words in (["list"], ["table", *whole], ["compare", *whole], ["doctor"]):
        out = joined.done(*words).out
        assert all(name in out for name in whole), words
    shown = joined.done("show", "MOE-000").out
    assert first in shown
    assert second in shown
    joined.done("sync", "--offline", "out")
    joined.done("report")
    texts = [*(joined.place / "out").iterdir(), joined.place / "logbooks/moe.md"]
    texts += (joined.place / "logbooks/.report").rglob("moe.html")
    for path in (*texts[-2:], *(p for p in texts if p.name == "issue.md")):
        assert all(name in path.read_text() for name in whole), path


def test_a_number_that_two_have_is_refused_with_both(joined: Clone) -> None:
    whole = names(joined)
    runs = [n for n in joined.values("MOE-000") if "." in n]
    for words in (
        ["show", "moe-1"], ["edit", "MOE-001", "--next", "x"], ["run", "--id", "MOE-001", "--", "true"],
        ["note", "--title", "x", "--continues", "MOE-001"], ["table", "MOE-001"], ["compare", "MOE-001", "MOE-000"],
    ):  # fmt: skip
        error = joined(words[0], "--json", *words[1:]).error
        assert all(name in error["message"] for name in whole), words
        assert joined(*error["hint"].split()[1:]).code == 0, "what it prints works"
    for words in (
        ["compare", "MOE-000/1", "MOE-000/2"], ["reproduce", "MOE-000/2"], ["patch", "MOE-000/2"],
        ["show", "MOE-000/2", "--log"], ["ab", "--like", "MOE-000/2", "--axis", "x=1,2", "--plan"],
        ["baseline", "--entry", "MOE-000/2", "--reason", "x"],
    ):  # fmt: skip
        answer = joined(*words)
        assert answer.code == 2, words
        assert all(f"MOE-000/{run}" in answer.err for run in runs), words


def test_whole_names_are_typed(joined: Clone) -> None:
    mine, other = names(joined)
    assert joined.done("show", other.lower(), "--json").data["title"] == "theirs"
    joined.done("edit", other, "--interpretation", f"[[{other} tflops]] beside [[{mine} tflops]]")
    said = joined.done("show", other).out
    assert "30.000 TF/s" in said
    assert "20.000 TF/s" in said
    joined.done("run", "--id", other, "--", "echo", "RESULT tflops=31")
    assert joined.values(other) == {"1": [30.0], "2": [31.0]}
    assert joined.values(mine) == {"1": [20.0]}
    joined.done("note", "--title", "follows", "--continues", mine)
    assert joined.done("show", "MOE-003", "--json").data["continues"] == mine


def test_runs_are_named_by_their_whole_numbers(joined: Clone) -> None:
    [run] = [n for n, found in joined.values("MOE-000").items() if found == [3.0]]
    reference = f"MOE-000/{run}"
    assert joined.done("reproduce", reference, "--json").data["run"] == run
    assert "-print('RESULT tflops=1')\n+print('RESULT tflops=3')" in joined.done("patch", reference).out
    assert joined.done("show", f"MOE-000/{run}", "--log").code == 0
    assert reference in joined.done("compare", "MOE-000/1", reference).out
    joined.done("edit", "MOE-000", "--interpretation", f"It reached [[{reference} tflops]].")
    assert "It reached 3.000 TF/s" in joined.done("show", "MOE-000").out
    joined.done("ab", "--like", reference, "--axis", "env:MODE=a,b", "--plan", "--title", "planned")
    planned = next(i for i, title in joined.listed().items() if title == "planned")
    assert "- bench.py\n" in at(joined.place / f"logbooks/moe/entries/{planned}.yaml").read_text()
    joined.done("baseline", "--entry", reference, "--reason", "theirs")
    assert "tflops 3.000 TF/s" in joined.done("baseline").out


def test_runs_that_failed_are_told_by_their_whole_numbers(
    ours: Clone, theirs: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From their files, and then from what was kept of those."""
    set_size(monkeypatch, "age of files that are remembered, ns", 0)
    for clone, code in ((ours, 3), (theirs, 4)):
        clone("run", "--id", "MOE-000", "--", "sh", "-c", f"exit {code}")
        clone.commit()
    ours.take(theirs, "merge")
    runs = [run for run in ours.values("MOE-000") if "." in run]
    for _ in range(2):
        said = ours.done("list", "--tried").out
        assert all(f"MOE-000 run {run}" in said for run in runs)


def test_what_was_said_of_a_run_stays_with_it(ours: Clone, theirs: Clone) -> None:
    """An acceptance names a run of its clone, not the other one that has the number after a merge."""
    for clone, value in ((ours, 2), (theirs, 3)):
        script = f"echo '# more' >> bench.py; sleep 1.1; echo RESULT tflops={value}"
        clone.done("run", "--id", "MOE-000", "--shell", "--", f"python bench.py; {script}")
        clone.git("restore", "bench.py")
    ours.done("edit", "MOE-000", "--accept", "the comment changes nothing", "--run", "2")
    ours.commit()
    theirs.commit()
    ours.take(theirs, "merge")
    mine = next(n for n, found in ours.values("MOE-000").items() if 2.0 in found)
    assert f"Accepted in run {mine}: the comment changes nothing" in ours.done("show", "MOE-000").out


@pytest.mark.parametrize("detached", [True, False])
def test_a_run_goes_on_while_its_entry_meets_another(ours: Clone, theirs: Clone, folder: Path, detached: bool) -> None:
    """A rebase brings another MOE-001, and another run 2 of MOE-000, under runs that have not ended."""
    theirs.done("run", "--title", "theirs", "--", "echo", "RESULT tflops=30")
    theirs.done("run", "--id", "MOE-000", "--", "echo", "RESULT tflops=3")
    theirs.commit()
    waits = "echo RESULT tflops=20; until [ -e go ]; do sleep 0.02; done; echo RESULT tflops=21"
    words = ["run", "--title", "ours", "--", "sh", "-c", waits]
    again = ["run", "--id", "MOE-000", "--", "sh", "-c", waits.replace("20", "2.0").replace("21", "2.1")]
    going: list[subprocess.Popen[str]] = []
    for one in (words, again):
        if detached:
            ours.done(one[0], "--detach", *one[1:])
        else:
            going.append(subprocess.Popen([*LOGBOOK, *one], cwd=folder, stdout=subprocess.DEVNULL, text=True))
            wait_for(lambda: ours("list", "--json").data[-1]["state"] == "running")
    wait_for(lambda: "RESULT" in ours("show", "MOE-001", "--log").out)
    wait_for(lambda: "RESULT" in ours("show", "MOE-000", "--log").out)
    ours.commit()
    ours.take(theirs, "rebase")
    mine = next(i for i, title in ours.listed().items() if title == "ours")
    assert ours.listed("state")[mine] == "running"
    (folder / "go").touch()
    assert [process.wait(60) for process in going] == [0] * len(going)
    if detached:
        ours.done("wait", mine)
        ours.done("wait", "MOE-000")
    assert ours.values(mine) == {"1": [20.0, 21.0]}
    assert sorted(ours.values("MOE-000").values()) == [[1.0], [2.0, 2.1], [3.0]]
    assert ours.listed("state")[mine] == "finished"
    ours.done("render")
    ours.done("doctor")


def test_worktrees_share_the_numbers_of_entries_and_join_their_runs(ours: Clone, folder: Path) -> None:
    side = folder.parent / "side"
    ours.git("worktree", "add", "-q", "-b", "side", str(side))
    there = Clone(ours.cli, ours.clock, side)
    for clone, who, value in ((ours, "ours", 2), (there, "theirs", 3)):
        clone.done("run", "--id", "MOE-000", "--", "echo", f"RESULT tflops={value}")
        clone.done("note", "--title", who)
        clone.commit()
    ours.git("merge", "-q", "-m", "joined", "side")
    assert ours.listed() == {"MOE-000": "shared", "MOE-001": "ours", "MOE-002": "theirs"}
    assert sorted(ours.values("MOE-000").values()) == [[1.0], [2.0], [3.0]]
    ours.done("render")
    ours.done("doctor")


@pytest.mark.parametrize("words", [("switch", "-q", "main"), ("merge", "-q", "-m", "joined", "main")])
def test_a_view_that_keeps_git_from_going_on_is_given_back_as_the_manual_says(
    ours: Clone, words: tuple[str, ...]
) -> None:
    (ours.place / ".git/info/exclude").unlink()
    ours.commit()
    ours.git("switch", "-q", "-c", "idea")
    for title, branch in (("an idea", "main"), ("on main", "idea")):
        ours.done("note", "--title", title)
        ours.commit()
        ours.git("switch", "-q", branch)
    ours.done("note", "--title", "not committed")
    with pytest.raises(AssertionError, match="overwritten by"):
        ours.git(*words)
    manual = (Path(__file__).parents[3] / "docs/how-to/repair.md").read_text()
    [row] = [line for line in manual.splitlines() if "would be overwritten" in line]
    restore, render = (word.split() for word in re.findall(r"`((?:git|logbook) .*?)`", row.replace("TOPIC", "moe"))[:2])
    ours.git(*restore[1:])
    ours.git(*words)
    ours.done(*render[1:])
    assert {"on main", "not committed"} <= {*ours.listed().values()}
    ours.done("render", "--check")
    ours.done("doctor")


@pytest.mark.parametrize("seed", [*range(3), *(wide(seed) for seed in range(3, 200))])
def test_generated_histories(ours: Clone, seed: int) -> None:
    """Whatever three clones record, and however git joins them: every entry and every run is shown once, and what
    continues an entry goes on doing so."""
    choice = random.Random(seed)
    clones = [ours, ours.cloned("second"), ours.cloned("third")]
    titles, values, continued = {"shared"}, [1.0], dict[str, str]()
    for _ in range(choice.randint(4, 10)):
        clone = choice.choice(clones)
        if choice.random() < 0.4:
            clone.take(choice.choice([one for one in clones if one is not clone]), choice.choice(WAYS))
        for _ in range(choice.randint(0, 3)):
            entries, title = clone.listed(), f"entry {len(titles)}"
            other = choice.choice([*entries])
            if choice.random() < 0.5:
                titles.add(title)
                continued[title] = entries[other]
                clone.done("note", "--title", title, "--continues", other)
            else:
                value = float(len(values) + 1)
                new = choice.random() < 0.5
                titles |= {title} if new else set()
                values.append(value)
                clone.done(
                    "run", *(("--title", title) if new else ("--id", other)), "--", "echo", f"RESULT tflops={value}"
                )
            clone.commit()
    for clone in clones[1:]:
        ours.take(clone, choice.choice(WAYS[:2]))
    entries = ours.listed()
    assert (sorted(entries.values()), len(entries)) == (sorted(titles), len(titles))
    found = [v for entry in entries for run in ours.values(entry).values() for v in run]
    assert sorted(found) == sorted(values)
    for entry, title in entries.items():
        other = ours.done("show", entry, "--json").data.get("continues")
        assert (entries[other] if other else None) == continued.get(title), title
    ours.done("render")
    ours.done("doctor")
