"""What no waiting helps against: nothing more is written, the error says what to do, and then the sync goes on."""

from __future__ import annotations

import pytest

from tests.contract.issue.sync_support import PEOPLE, WRITE, Bench
from tests.emulator import faults
from tests.emulator.faults import Fault
from tests.seams import issue_block

pytestmark = pytest.mark.slow

# Its name in --json, and a word of what to do next.
TERMINAL: dict[str, tuple[Fault, str, str]] = {
    "401": (faults.unauthorized(), "bad_token", "GH_ENTERPRISE_TOKEN"),
    "403": (faults.forbidden(), "forbidden", "write access"),
    "404": (faults.missing(), "issue_missing", "address"),
    "410": (faults.gone(), "issue_missing", "--replace"),
    "422": (faults.invalid("Body is unprocessable"), "rejected", "--dry-run"),
    "locked": (faults.locked(), "issue_locked", "unlock"),
}


@pytest.mark.parametrize(("name", "nth"), [*((name, 1) for name in TERMINAL), ("401", 2), ("locked", 2), ("404", 4)])
@pytest.mark.sample(2)
def test_a_refused_write_is_the_last_one(thirty: Bench, name: str, nth: int) -> None:
    thirty.adopt()
    fault, code, hint = TERMINAL[name]
    thirty.github.rules.add(WRITE, "", fault, nth=nth)
    error = thirty.fails(code)
    assert hint in error["hint"]
    assert (str(nth - 1) in error["cause"]) == (nth > 1), "how many were made before"
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
    fault, code, hint = TERMINAL[name]
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
    fault, code, _ = TERMINAL[name]
    thirty.github.rules.add(method, "/issues$", fault)
    thirty.fails(code, "--create")
    assert len(thirty.github.writes) == (method == "POST")
    assert thirty.book.header.issue is None
    thirty.github.rules.clear()
    thirty.sync("--create")
    thirty.settled(thirty.book.entry_ids())


def test_an_issue_that_was_locked(thirty: Bench) -> None:
    thirty.adopt()
    thirty.github.lock(thirty.repo, thirty.number)
    assert "--replace" in thirty.fails("issue_locked")["hint"]
    assert thirty.github.writes == []


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
}


@pytest.mark.parametrize("what", LINES)
@pytest.mark.sample(2)
def test_a_block_whose_place_is_not_known(thirty: Bench, what: str) -> None:
    thirty.adopt()
    thirty.sync()
    body = thirty.body
    found = issue_block(thirty.book, body)
    begin, *text, end = body[found.start : found.end].split("\n")
    damaged = "\n".join(LINES[what](begin, "\n".join(text), end))
    thirty.github.edit_body_as("bob", thirty.repo, thirty.number, body[: found.start] + damaged)
    late = thirty.note("Later")
    before = len(thirty.github.writes)
    error = thirty.fails("markers_damaged")
    assert "logbook sync --new-block" in error["hint"]
    assert len(thirty.github.writes) == before
    assert thirty.fails("markers_damaged", "--dry-run")["message"] == error["message"]
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


def test_an_issue_that_a_person_closed_goes_on(thirty: Bench) -> None:
    thirty.adopt()
    thirty.github.ask("PATCH", f"/repos/{thirty.repo}/issues/{thirty.number}", {"state": "closed"}, user="bob")
    thirty.sync()
    assert thirty.github.issue(thirty.repo, thirty.number)["state"] == "closed"
    assert thirty.told() == thirty.book.entry_ids()
    assert thirty.sync()["steps"] == []
