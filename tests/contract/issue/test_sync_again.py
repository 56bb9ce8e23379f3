"""What an error tells the user to type works when it is typed."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest

from tests.contract.issue.pushed_support import Pushed, refused, tags
from tests.contract.issue.sync_support import Bench
from tests.emulator import faults
from tests.emulator.faults import Fault

pytestmark = pytest.mark.slow

FAULTS: dict[str, tuple[Fault, tuple[str, ...]]] = {
    "401": (faults.unauthorized(), ()),
    "403": (faults.forbidden(), ()),
    "404": (faults.missing(), ()),
    "422": (faults.invalid(), ()),
    "429": (faults.too_many(), ("--max-wait", "1s")),
    "lost": (faults.dropped(applied=False), ("--max-wait", "1m")),
}


def typed(error: dict[str, str], begin: str) -> list[list[str]]:
    """The commands of a hint that begin so, as words."""
    found = [shlex.split(text) for text in re.findall(rf"{begin}[^;`]*", re.sub(r" goes on .*", "", error["hint"]))]
    assert found, error
    return found


@pytest.mark.parametrize(("fault", "more"), FAULTS.values(), ids=FAULTS)
@pytest.mark.sample(3)
def test_opening_the_issue(bench: Bench, fault: Fault, more: tuple[str, ...]) -> None:
    bench.note()
    words = ["sync", "--create", "--repo", bench.repo, "--label", "a b"]
    bench.github.rules.add("POST", "/issues$", fault)
    error = refused(bench, 4, "-L", "moe", *words, *more)
    bench.github.rules.clear()
    commands = typed(error, "logbook -L moe sync")
    if commands[0][-1] != "--dry-run":
        assert {"logbook", *words, "-L", "moe"} <= set(commands[0])
        bench.ok(*commands[0][1:])
        assert bench.told() == ["MOE-000"]
        assert [label["name"] for label in bench.github.issue(bench.repo, 1)["labels"]] == ["a b"]


@pytest.mark.parametrize("where", ["/git/tags$", "/comments$"])
@pytest.mark.parametrize("name", ["401", "429", "lost"])
@pytest.mark.sample(2)
def test_a_snapshot(published: Pushed, where: str, name: str) -> None:
    bench = published.bench
    bench.sync("--create")
    words = ["snapshot", "moe-1", "--entry", "MOE-000", "--message", "Before the move"]
    fault, more = FAULTS[name]
    bench.github.rules.add("POST", where, fault)
    error = refused(bench, 4, *words, *more)
    assert "logbook sync" not in error["hint"]
    assert all(command[: len(words) + 1] == ["logbook", *words] for command in typed(error, "logbook snapshot"))
    bench.github.rules.clear()
    bench.ok(*typed(error, "logbook snapshot")[0][1:])
    assert tags(bench) == ["refs/tags/moe-1"]
    assert [len(bench.of_kind(kind)) for kind in ("update", "snapshot")] == [1, 1]


# -- what has moved --------------------------------------------------------------------------------------


def api(bench: Bench, path: str) -> Fault:
    """A redirect within the API that leads to nothing one may see."""
    return faults.moved(f"{bench.github.api}/{path}")


def test_a_repository_that_was_renamed(bench: Bench) -> None:
    bench.github.rules.add("GET", f"{bench.repo}$", api(bench, f"repos/{bench.github.new_repo()}"))
    error = refused(bench, 4, "sync", "--create")
    assert error["code"] == "issue_moved"
    assert "logbook link" not in error["hint"]
    assert "then: logbook sync --create" in error["hint"]


def test_a_tag_that_somebody_sets_at_the_same_moment(published: Pushed) -> None:
    bench = published.bench
    elsewhere = bench.github.head(bench.repo)

    def tag(name: str, commit: str) -> Any:
        def now(_request: object, true: faults.Reply | None) -> faults.Reply | None:
            bench.github.ask("POST", f"/repos/{bench.repo}/git/refs", {"ref": f"refs/tags/{name}", "sha": made["sha"]})
            return faults.refusal(422, "Reference already exists")

        words = {"tag": name, "message": "Theirs", "object": commit, "type": "commit"}
        made = bench.github.ask("POST", f"/repos/{bench.repo}/git/tags", words)
        return Fault(name="race", applied=False, answers=now)

    bench.github.rules.add("POST", "/git/refs$", tag("moe-1", published.head), times=1)
    assert bench.ok("snapshot", "moe-1", "--json").data["created"] is False
    bench.github.rules.add("POST", "/git/refs$", tag("moe-2", elsewhere), times=1)
    error = refused(bench, 2, "snapshot", "moe-2")
    assert error["code"] == "taken"
    assert elsewhere[:9] in error["message"]
    bench.github.rules.add("POST", "/git/refs$", faults.invalid("Reference update failed"), times=1)
    error = refused(bench, 4, "snapshot", "moe-3")
    assert error["code"] == "rejected"
    assert "moe-3" in error["hint"]
