"""Plots in the issue: by their address at the pushed commit, and only where others see what is here."""

from __future__ import annotations

import re

import pytest

from tests.breadth import wide
from tests.contract.issue.pushed_support import Pushed
from tests.contract.issue.sync_support import Bench

pytestmark = pytest.mark.slow

FOLDER = "logbooks/moe/plots"
NOISE, BEST = "moe-000-noise-tflops", "thread-best-tflops"


def measured(bench: Bench, title: str, tflops: int, runs: int) -> None:
    """An entry with so many runs of one case, which differ."""
    script = f'echo "RESULT tflops={tflops}.$LOGBOOK_RUN"'
    bench.ok("run", "--title", title, "--repeat", str(runs), "--", "bash", "-c", script)


def pictures(text: str) -> dict[str, str]:
    """Address -> title of every picture."""
    return {address: title for title, address in re.findall(r"!\[([^\]]*)\]\(([^)]*)\)", text)}


def served(pushed: Pushed, sha: str, key: str) -> str:
    """The address of a plot, whose file at that commit is the one that is here."""
    path = f"{FOLDER}/{key}.svg"
    assert pushed.git("show", f"{sha}:{path}").strip() == (pushed.bench.folder / path).read_text().strip()
    return pushed.blob(sha, f"{path}?raw=true")


@pytest.fixture
def drawn(pushed: Pushed) -> Pushed:
    """Two entries with runs; the first names a plot and so does the header. Nothing is pushed, and of the logbook
    nothing is committed."""
    pushed.commit("The code", "logbook.toml")
    measured(pushed.bench, "First", 100, 4)
    measured(pushed.bench, "Second", 110, 1)
    pushed.bench.ok("plot", "MOE-000", "--kind", "noise", "--save")
    pushed.bench.ok("plot", "--kind", "best", "--save")
    return pushed


def test_pictures_come_with_the_push_and_stay_where_they_are(drawn: Pushed) -> None:
    bench = drawn.bench
    bench.sync("--create")
    assert pictures(bench.body + bench.comments[0]["body"]) == {}
    assert "- Plots: Not shown (not pushed): MOE-000: tflops run by run" in bench.comments[0]["body"]
    assert "\n## Plots\n\nNot shown (not pushed): Best tflops so far\n" in bench.block

    sha = drawn.publish()
    assert drawn.steps() == ["block", "edit comment N: MOE-000, MOE-001"]
    [comment] = bench.comments
    noise, best = served(drawn, sha, NOISE), served(drawn, sha, BEST)
    assert pictures(comment["body"]) == {noise: "MOE-000: tflops run by run"}
    assert pictures(bench.block) == {best: "Best tflops so far"}
    assert "Not shown" not in bench.body + comment["body"]
    assert drawn.steps() == []

    # What is pushed of other work, and another entry of this logbook, leave the comment alone.
    (bench.folder / "other.py").write_text("pass\n")
    drawn.publish("Other work")
    assert drawn.steps() == []
    bench.note()
    after = drawn.publish("A note")
    assert [step for step in drawn.steps() if "MOE-000" in step] == []
    assert bench.comments[0] == comment
    assert pictures(bench.block) == {served(drawn, after, BEST): "Best tflops so far"}
    assert drawn.steps() == []


@pytest.mark.parametrize("spoil", [wide("", id="gone"), pytest.param("<svg/>", id="of other data")])
def test_a_picture_that_is_not_of_these_data_is_not_shown(drawn: Pushed, spoil: str) -> None:
    """Be it pushed or not: a picture that says something else than the text would mislead."""
    bench = drawn.bench
    path = bench.folder / f"{FOLDER}/{NOISE}.svg"
    path.unlink()
    if spoil:
        path.write_text(spoil)
    drawn.publish()
    bench.sync("--create")
    assert pictures(bench.comments[0]["body"]) == {}
    assert "Not shown" in bench.comments[0]["body"]
    assert f"[In the logbook]({drawn.blob(drawn.head, 'logbooks/moe.md')}" in bench.comments[0]["body"]
    assert drawn.steps() == []
    bench.ok("plot")
    sha = drawn.publish()
    assert drawn.steps() == ["block", "edit comment N: MOE-000, MOE-001"]
    assert pictures(bench.comments[0]["body"]) == {served(drawn, sha, NOISE): "MOE-000: tflops run by run"}


def test_a_clone_where_a_picture_is_missing_takes_none_away(drawn: Pushed) -> None:
    bench = drawn.bench
    drawn.publish()
    bench.sync("--create")
    before = bench.comments
    (bench.folder / f"{FOLDER}/{NOISE}.svg").unlink()
    assert drawn.steps() == []
    assert bench.comments == before
