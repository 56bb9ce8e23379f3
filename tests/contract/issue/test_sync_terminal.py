"""What no waiting helps against: nothing more is written, the error says what to do, and then the sync goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from tests.contract.issue.sync_support import PEOPLE, WRITE, Bench
from tests.emulator import faults
from tests.emulator.faults import Fault
from tests.seams import marking

pytestmark = pytest.mark.slow

Made: TypeAlias = Callable[[Bench], Fault]


# Its name in --json, and words of what to type next.
TERMINAL: dict[str, tuple[Made, str, str]] = {
    "401": (lambda _: faults.unauthorized(), "bad_token", "set GH_ENTERPRISE_TOKEN"),
    "403": (lambda _: faults.forbidden(), "forbidden", "write access to issues"),
    "404": (lambda _: faults.missing(), "issue_missing", "check the address"),
    "410": (lambda _: faults.gone(), "issue_missing", "link URL --replace"),
    "422": (lambda _: faults.invalid("Body is unprocessable"), "rejected", "--dry-run"),
    "locked": (lambda _: faults.locked(), "issue_locked", "unlock the conversation"),
}


@pytest.mark.parametrize(("name", "nth"), [*((name, 1) for name in TERMINAL), ("401", 2), ("locked", 2), ("404", 4)])
@pytest.mark.sample(2)
def test_a_refused_write_is_the_last_one(thirty: Bench, name: str, nth: int) -> None:
    thirty.adopt()
    made, code, hint = TERMINAL[name]
    thirty.github.rules.add(WRITE, "", made(thirty), nth=nth)
    error = thirty.fails(code)
    assert hint in error["hint"]
    told = f"{nth - 1} write{' was' if nth == 2 else 's were'} made before; what is left stays"
    assert (told in error["cause"], "made before" in error["cause"]) == (nth > 1, nth > 1)
    assert [w.applied for w in thirty.github.writes] == [True] * (nth - 1) + [False]
    assert thirty.time.waits == []
    thirty.github.rules.clear()
    thirty.sync()
    thirty.settled(thirty.book.entry_ids(), people=PEOPLE)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        *((name, r"/issues/\d+$") for name in TERMINAL if name != "locked"),
        *((name, "/comments$") for name in ("403", "410")),
    ],
)
@pytest.mark.sample(2)
def test_a_refused_read_lets_nothing_be_written(thirty: Bench, name: str, path: str) -> None:
    thirty.adopt()
    made, code, hint = TERMINAL[name]
    fault = made(thirty)
    thirty.github.rules.add("GET", f"{thirty.repo}.*{path}", fault)
    error = thirty.fails(code)
    assert hint in error["hint"]
    assert thirty.github.writes == []
    thirty.github.rules.clear()
    thirty.sync()
    thirty.settled(thirty.book.entry_ids(), people=PEOPLE)


@pytest.mark.parametrize(
    ("name", "method"), [*((name, "POST") for name in ("401", "403", "404", "410", "422")), ("404", "GET")]
)
@pytest.mark.sample(2)
def test_an_issue_that_must_not_be_opened(thirty: Bench, name: str, method: str) -> None:
    made, code, _ = TERMINAL[name]
    thirty.github.rules.add(method, "/issues$", made(thirty))
    thirty.fails(code, "--create")
    assert len(thirty.github.writes) == (method == "POST")
    assert thirty.book.header.issue is None
    thirty.github.rules.clear()
    thirty.sync("--create")
    thirty.settled(thirty.book.entry_ids())


def test_an_issue_that_was_locked(thirty: Bench) -> None:
    thirty.adopt()
    thirty.github.lock(thirty.repo, thirty.number)
    error = thirty.fails("issue_locked")
    assert "logbook link URL --replace" in error["hint"]
    assert thirty.github.writes == []
    thirty.github.ask("DELETE", f"/repos/{thirty.repo}/issues/{thirty.number}/lock")
    thirty.sync()
    thirty.settled(thirty.book.entry_ids(), people=PEOPLE)


def test_an_issue_that_was_transferred_is_followed_when_a_person_says_so(thirty: Bench) -> None:
    thirty.sync("--create")
    there = thirty.github.new_repo()
    number = thirty.github.open_issue_as("ada", there, body=thirty.body)
    for comment in thirty.comments:
        thirty.github.comment_as("ada", there, number, comment["body"])
    before = len(thirty.github.writes)
    thirty.github.rules.add(".*", f"{thirty.repo}/", faults.moved(f"{thirty.github.api}/repos/{there}/issues/{number}"))
    error = thirty.fails("issue_moved")
    typed = error["hint"].split("; then: ")
    assert typed == [f"logbook link {thirty.github.web}/{there}/issues/{number} --replace", "logbook sync --json"]
    thirty.ok(*typed[0].split()[1:])
    assert thirty.sync()["steps"] == []
    assert len(thirty.github.writes) == before


LINES = {
    "begin": lambda begin, text, end: (text, end),
    "end": lambda begin, text, end: (begin, text),
    "both": lambda begin, text, end: (text,),
    "doubled": lambda begin, text, end: (begin, text, end, begin, text, end),
    "doubled_end": lambda begin, text, end: (begin, text, end, end),
    "reversed": lambda begin, text, end: (end, text, begin),
}


@pytest.mark.parametrize("what", LINES)
@pytest.mark.sample(2)
def test_a_block_whose_place_is_not_known(thirty: Bench, what: str) -> None:
    thirty.adopt()
    thirty.sync()
    body = thirty.body
    found = marking.find_block(body, thirty.key)
    assert found is not None
    begin, *text, end = body[found.start : found.end].split("\n")
    damaged = "\n".join(LINES[what](begin, "\n".join(text), end))
    thirty.github.edit_body_as("bob", thirty.repo, thirty.number, body[: found.start] + damaged)
    late = thirty.note("Later")
    before = len(thirty.github.writes)
    error = thirty.fails("markers_damaged")
    assert "logbook sync --new-block" in error["hint"]
    assert len(thirty.github.writes) == before
    assert thirty.fails("markers_damaged", "--dry-run") == {**error, "cause": error["cause"].split("; 0 writes")[0]}
    if what != "both":
        # It is for markers that are gone.
        thirty.fails("markers_damaged", "--new-block")
        assert len(thirty.github.writes) == before
        thirty.github.edit_body_as("bob", thirty.repo, thirty.number, body)
        thirty.sync()
        people = PEOPLE
    else:
        thirty.sync("--new-block")
        people = f"{PEOPLE}\n\n" + "\n".join(text)
    thirty.settled([*thirty.book.entry_ids()], people=people)
    assert late in thirty.told()


def test_without_a_token_nothing_is_asked(thirty: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GH_ENTERPRISE_TOKEN")
    monkeypatch.setenv("GH_TOKEN", "of-another-host")
    monkeypatch.setenv("PATH", "/nowhere")
    error = thirty.fails("no_token", "--create")
    assert "GH_ENTERPRISE_TOKEN" in error["hint"]
    assert thirty.github.requests == []


def test_an_unknown_repository(thirty: Bench) -> None:
    error = thirty.fails("issue_missing", "--create", "--repo", "ada/nowhere")
    assert "repository ada/nowhere" in error["message"]
    assert thirty.github.writes == []
    thirty.sync("--create")
    thirty.settled(thirty.book.entry_ids())


def test_an_issue_that_a_person_closed_goes_on(thirty: Bench) -> None:
    thirty.adopt()
    thirty.github.ask("PATCH", f"/repos/{thirty.repo}/issues/{thirty.number}", {"state": "closed"}, user="bob")
    thirty.sync()
    assert thirty.github.issue(thirty.repo, thirty.number)["state"] == "closed"
    assert thirty.told() == thirty.book.entry_ids()
    assert thirty.sync()["steps"] == []


def test_another_issue_takes_its_place(thirty: Bench) -> None:
    thirty.sync("--create")
    first = thirty.number
    before = thirty.github.issue(thirty.repo, first), thirty.github.comments(thirty.repo, first)
    number = thirty.github.open_issue_as("bob", thirty.repo, body=PEOPLE)
    assert thirty.cli("link", f"{thirty.repo}#{number}").code == 2
    thirty.ok("link", f"{thirty.repo}#{number}", "--replace")
    sent = len(thirty.github.writes)
    thirty.sync()
    assert all(f"/issues/{number}" in w.path for w in thirty.github.writes[sent:])
    assert (thirty.github.issue(thirty.repo, first), thirty.github.comments(thirty.repo, first)) == before
    assert thirty.number == number
    assert thirty.told() == thirty.book.entry_ids()
    assert thirty.sync()["steps"] == []
