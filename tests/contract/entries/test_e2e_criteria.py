"""`criteria` and `status --summary`: what a person says of where the thread stands, and where it shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Answer, Cli, FixedClock
from tests.stored import at

STOPS = ["no speed-up at any shape", "p < 0.05\non two machines", "two weeks"]


@pytest.fixture
def judging(cli: Cli, clock: FixedClock) -> Cli:
    """A logbook with three stop criteria and an entry."""
    stops = [word for stop in STOPS for word in ("--stop", stop)]
    assert cli("start", "moe", "--prefix", "MOE", "--goal", "find out", *stops).code == 0
    assert cli("note", "--title", "What shows it").code == 0
    return cli


def ok(answer: Answer) -> Any:
    assert answer.code == 0, answer
    return answer.data


def view(folder: Path) -> str:
    return (folder / "logbooks/moe.md").read_text()


def block(cli: Cli) -> str:
    """What an issue would say."""
    assert cli("sync", "--create", "--offline", "out", "--repo", "acme/moe").code == 0
    return Path("out/issue.md").read_text()


def test_not_met_until_somebody_judges(judging: Cli, folder: Path) -> None:
    answer = judging("criteria", "--json")
    assert answer.code == 1
    assert answer.data["met"] is False
    first = {"number": 1, "text": STOPS[0], "met": False, "evidence": None, "by": None, "at": None}
    first |= {"computed": None, "doubt": None}
    assert answer.data["criteria"][0] == first
    assert [c["text"] for c in answer.data["criteria"]] == [STOPS[0], "p < 0.05 on two machines", STOPS[2]]
    text = judging("criteria")
    assert (text.code, text.err[:6]) == (1, "3 of 3")
    assert text.out.splitlines()[0] == f"[ ] 1. {STOPS[0]}"
    assert "## Stop Criteria\n- no speed-up at any shape\n" in view(folder)
    assert f"- [ ] {STOPS[0]}\n" in block(judging)
    assert "[x]" not in block(judging)


@pytest.mark.slow
def test_a_judgement_shows_with_its_evidence(judging: Cli, folder: Path, clock: FixedClock) -> None:
    clock.tick(3)
    data = ok(judging("criteria", "--met", "1", "--evidence", "MOE-000", "--json"))
    assert data["met"] is False
    judged = {"met": True, "evidence": "MOE-000", "by": "Ada", "at": "2026-02-10T10:46:00+00:00"}
    assert data["criteria"][0] == {"number": 1, "text": STOPS[0], **judged, "computed": None, "doubt": None}
    url = "https://ci.example.org/runs/12"
    ok(judging("criteria", "--met", "2", "--evidence", f" {url} ", "--by", "Grace", "--json"))
    assert f"- [x] {STOPS[0]} (met: MOE-000, Ada)\n" in view(folder)
    assert "- [x] p < 0.05\n  on two machines\n  " + f"(met: {url}, Grace)" in view(folder)
    assert f"- [x] {STOPS[0]} (met: MOE-000; Ada, 2026-02-10 10:46)\n" in block(judging)
    assert f"on two machines (met: {url}; Grace, 2026-02-10 10:46)\n" in block(judging)
    assert f"- [ ] {STOPS[2]}\n" in block(judging)
    assert judging("criteria").code == 1

    ok(judging("criteria", "--met", "3", "--evidence", "MOE-000", "--json"))
    answer = judging("criteria", "--json")
    assert (answer.code, answer.data["met"]) == (0, True)
    assert [c["met"] for c in judging("status", "--json").data["criteria"]] == [True, True, True]
    assert judging("criteria").out.splitlines()[1] == f"[x] 2. p < 0.05 on two machines (met: {url}, Grace)"

    # Judged anew, the other way.
    data = ok(judging("criteria", "--unmet", "1", "--evidence", "MOE-000", "--json"))
    assert (data["met"], data["criteria"][0]["met"]) == (False, False)
    assert judging("criteria").code == 1
    assert f"- [ ] {STOPS[0]} (not met: MOE-000, Ada)\n" in view(folder)
    assert f"- [ ] {STOPS[0]} (not met: MOE-000; Ada," in block(judging)
    status = judging("status", "--json").data["criteria"]
    assert status[0] == {"text": STOPS[0], "met": False, "evidence": "MOE-000"}


@pytest.mark.parametrize(
    ("words", "code", "names"),
    [
        (["--met", "0", "--evidence", "MOE-000"], "usage", "no stop criterion 0"),
        (["--met", "4", "--evidence", "MOE-000"], "usage", "no stop criterion 4"),
        (["--met", "-1", "--evidence", "MOE-000"], "usage", "no stop criterion -1"),
        (["--met", "one", "--evidence", "MOE-000"], "usage", "one"),
        (["--met", "1"], "usage", "no evidence"),
        (["--met", "1", "--evidence", " "], "usage", "no evidence"),
        (["--met", "1", "--evidence", "I saw it"], "usage", "I saw it"),
        (["--met", "1", "--evidence", "ftp://x.example.org"], "usage", "ftp"),
        (["--met", "1", "--evidence", "https://"], "usage", "https://"),
        (["--met", "1", "--evidence", "MOE-404"], "not_found", "MOE-404"),
        (["--met", "1", "--evidence", "XYZ-000"], "not_found", "XYZ-000"),
        (["--met", "1", "--unmet", "2", "--evidence", "MOE-000"], "usage", "--unmet"),
        (["--evidence", "MOE-000"], "usage", "no criterion named"),
        (["--by", "Ada"], "usage", "no criterion named"),
    ],
)  # fmt: skip
@pytest.mark.sample(5)
def test_what_is_no_judgement(judging: Cli, folder: Path, words: list[str], code: str, names: str) -> None:
    header = folder / "logbooks/moe/logbook.yaml"
    before = header.read_bytes()
    answer = judging("criteria", *words, "--json")
    assert answer.code == 2
    assert answer.error["code"] == code
    assert names in answer.error["message"]
    assert answer.error["cause"]
    assert answer.error["hint"]
    assert header.read_bytes() == before


def test_a_logbook_without_criteria(started: Cli) -> None:
    answer = started("criteria", "--json")
    assert (answer.code, answer.data["criteria"]) == (0, [])
    assert "logbook criteria --help" in started("criteria").out
    started("note", "--title", "x")
    assert started("criteria", "--met", "1", "--evidence", "MOE-000", "--json").error["code"] == "usage"


def test_a_user_without_a_name_is_asked_for_one(judging: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 12345")

    monkeypatch.delenv("GIT_AUTHOR_NAME")
    monkeypatch.setattr("getpass.getuser", nobody)
    answer = judging("criteria", "--met", "1", "--evidence", "MOE-000", "--json")
    assert (answer.code, answer.error["hint"]) == (2, "add: --by NAME")
    assert judging("criteria", "--met", "1", "--evidence", "MOE-000", "--by", "Ada").code == 0


def test_a_judgement_is_text(judging: Cli, folder: Path) -> None:
    """What signs it can forge nothing, in the view and in the issue."""
    name = "@mallory\n<!-- logbook:end header --> fixes #1"
    ok(judging("criteria", "--met", "1", "--evidence", "MOE-000", "--by", name, "--json"))
    assert view(folder).count("<!-- logbook:end header -->") == 1
    assert "@mallory" not in block(judging)
    assert "fixes #1" not in block(judging)
    assert "<!-- logbook:end header" not in block(judging)


# -- summary ---------------------------------------------------------------------------------------------


def test_a_summary_comes_first_and_can_be_taken_back(judging: Cli, folder: Path) -> None:
    generated = block(judging).split("## TL;DR")[1].split("##")[0].strip()
    assert generated
    assert (
        ok(judging("status", "--summary", "Int8 **loses** at every shape.", "--json"))["summary"]
        == "Int8 **loses** at every shape."
    )
    assert "## Scope\n- Summary: Int8 **loses** at every shape.\n- Goal: find out\n" in view(folder)
    # What was asked and found stands above it.
    told = block(judging).split("## TL;DR")[1].split("##")[0].strip()
    assert told == f"{generated}\n\nInt8 **loses** at every shape."
    assert "summary: Int8 **loses** at every shape.\n" in judging("status").out
    (folder / "summary.md").write_text("From a file:\n\n- one\n- two\n")
    judging("status", "--summary", "@summary.md")
    assert "- Summary:\n  From a file:\n\n  - one\n  - two\n" in view(folder)
    assert "From a file:\n\n- one\n- two\n" in block(judging)
    assert "summary" not in ok(judging("status", "--summary", "", "--json"))
    assert "Summary" not in view(folder)
    assert block(judging).split("## TL;DR")[1].split("##")[0].strip() == generated


PAIR = "compared: {axis: quant_mode, values: [none, int8]}"


@pytest.mark.slow
def test_a_predicate_is_computed_wherever_criteria_are_shown(cli: Cli, clock: FixedClock, folder: Path) -> None:
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max", "--stop", "a pair").code == 0
    assert ok(cli("criteria", "--predicate", f"1={PAIR}", "--json"))["criteria"][0]["computed"]["state"] == "unmet"
    assert "- [ ] a pair (computed: unmet, nothing has been measured yet)" in view(folder)
    (folder / "b.py").write_text("import sys; print('METRIC tflops=%s TF/s' % (100 + len(sys.argv[1])))")
    for mode in ("none", "int8"):
        assert cli("run", "--config", f"quant_mode={mode}", "--", "python3", "b.py", mode).code == 0
    reason = "quant_mode=int8: 1 pair may be compared"
    found = cli("criteria")
    assert (found.code, found.out) == (0, f"[x] 1. a pair (computed: met, {reason} [MOE-000, MOE-001])\n")
    assert f"- [x] a pair (computed: met, {reason} [MOE-000, MOE-001])" in view(folder)
    line = ok(cli("status", "--json"))["criteria"][0]
    assert (line["met"], line["computed"], line["reason"]) == (True, "met", reason)
    assert f"- [x] a pair (computed: met, {reason} [MOE-000, MOE-001])" in block(cli)
    incremental = view(folder)
    assert cli("render").code == 0
    assert view(folder) == incremental


@pytest.mark.parametrize(("how", "lost"), [("void", "void"), ("abandoned", "abandoned"), ("", "no longer there")])
@pytest.mark.sample(1)
def test_a_judgement_on_evidence_that_was_taken_back_says_so(judging: Cli, folder: Path, how: str, lost: str) -> None:
    ok(judging("criteria", "--met", "1", "--evidence", "MOE-000", "--by", "ada", "--json"))
    # An entry that is not here keeps its whole name: another clone may have one of that number.
    entry = "MOE-000" if how else at(folder / "logbooks/moe/entries/MOE-000.yaml").stem
    doubt = f"rests on {entry}, which is {lost}"
    if how:
        said = judging("edit", "MOE-000", "--state", how).err
        assert all(word in said for word in ("criterion 1", doubt, "--met 1", "logbook criteria --help"))
    else:
        at(folder / "logbooks/moe/entries/MOE-000.yaml").unlink()
        assert judging("render").code == 0
    text = f"[x] {STOPS[0]} (met: {entry}, ada; {doubt})\n"
    assert f"- {text}" in view(folder)
    assert judging("criteria").out.startswith(text.replace("[x]", "[x] 1."))
    criterion = judging("criteria", "--json").data["criteria"][0]
    assert (criterion["met"], criterion["doubt"]) == (True, doubt)
    line = ok(judging("status", "--json"))["criteria"][0]
    assert line == {"text": STOPS[0], "met": True, "doubt": doubt, "evidence": entry}
    assert f"- [x] {STOPS[0]} (met: {entry}; ada, 2026-02-10 10:43; {doubt})\n" in block(judging)
    assert "doubt" not in (folder / "logbooks/moe/logbook.yaml").read_text()
    closing = judging("close", "--conclusion", "it is so", "--local", "--dry-run")
    assert f"warning: stop criterion 1 {doubt}\n" in closing.err
    if how:
        assert judging("edit", "MOE-000", "--state", "computed").err == ""
        assert f"- {text.partition(';')[0]})\n" in view(folder)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--predicate", "1=compare: {}"], "unknown predicate 'compare'"),
        (["--predicate", "1=compared: {axis"], "predicate"),
        (["--predicate", "date: 2020-01-01"], "--predicate"),
        (["--predicate", "9=date: 2020-01-01"], "no stop criterion 9"),
        (["--add", " "], "no text"),
        (["--add", "new", "--predicate", "compare: {}"], "unknown predicate 'compare'"),
        (["--add", "new", "--predicate", "9=date: 2020-01-01"], "no stop criterion 9"),
        (["--add", "new", "--met", "1"], "no evidence"),
        (["--add", "new", "--met", "9", "--evidence", "MOE-000"], "no stop criterion 9"),
    ],
)
@pytest.mark.sample(4)
def test_predicates_that_cannot_be(judging: Cli, folder: Path, words: list[str], said: str) -> None:
    before = (folder / "logbooks/moe/logbook.yaml").read_bytes()
    answer = judging("criteria", *words)
    assert answer.code == 2
    assert said in answer.err
    assert (folder / "logbooks/moe/logbook.yaml").read_bytes() == before


def test_a_criterion_is_added_with_its_predicate_in_one_go(judging: Cli) -> None:
    answer = judging(
        "criteria", "--add", "spent", "--predicate", "date: 2020-01-01", "--unmet", "1", "--evidence", "MOE-000"
    )
    assert answer.code == 0
    assert "[x] 4. spent (computed: met, 2020-01-01 has come)\n" in answer.out
    assert "[ ] 1. no speed-up at any shape (not met: MOE-000, " in answer.out


def test_what_keeps_a_thread_open_is_said_first(cli: Cli) -> None:
    assert cli("start", "t", "--prefix", "T").code == 0
    assert cli("criteria", "--add", "All is said").code == 0
    tries = [cli("close"), cli("close", "--conclusion", "No")]
    assert [(one.code, "stop criterion 1 is not met" in one.err) for one in tries] == [(1, True)] * 2
    assert "would be closed, with --unmet" in cli("close", "--conclusion", "No", "--dry-run").out
