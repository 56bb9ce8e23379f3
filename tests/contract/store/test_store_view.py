"""The view is generated: whatever changed it, it is rendered again, and no word that somebody wrote there is lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Answer, Cli
from tests.contract.views import blocks, is_generated, sealed
from tests.stored import at

pytestmark = pytest.mark.slow
Git = Callable[..., str]
CONFLICT = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> main\n"


@pytest.fixture
def view(one: Cli, folder: Path) -> Path:
    """The view of a logbook whose entry MOE-000 has a run."""
    return folder / "logbooks/moe.md"


@pytest.fixture
def entry(folder: Path) -> Path:
    return at(folder / "logbooks/moe/entries/MOE-000.yaml")


def kept(answer: Answer) -> Path:
    """Where the one warning says that the changed text is."""
    [warning] = answer.err.splitlines()
    assert warning.startswith("warning: moe.md was changed by hand or by a merge, and is rendered again")
    return Path(warning.rpartition(" is in ")[2])


def rendered(cli: Cli, view: Path) -> str:
    """The view as it is rendered where there is none."""
    view.unlink()
    assert cli("render").code == 0
    return view.read_text()


def test_the_first_and_the_last_line(one: Cli, view: Path) -> None:
    text = view.read_text()
    first = text.split("\n")[0]
    assert "do not edit" in first
    assert "moe/entries/*.yaml" in first
    assert "logbook edit ID" in first
    assert is_generated(text)
    assert [*blocks(text)] == ["header", "MOE-000"]


CHANGES: dict[str, Callable[[str], str]] = {
    "a word": lambda text: text.replace("MOE-000", "MOE-000 my words", 1),
    "text between blocks": lambda text: text.replace("<!-- logbook:block MOE", "Mine.\n\n<!-- logbook:block MOE"),
    "text at the end": lambda text: f"{text}My words.\n",
    "no last line": lambda text: text[: text.rindex("<!-- ")],
    "conflict markers": lambda text: text + CONFLICT,
    "a marker without an end": lambda text: text.replace("<!-- logbook:end MOE-000 -->\n", ""),
    "both sides of a merge": lambda text: text + text,
    "a byte order mark": lambda text: f"\ufeff{text}",
    "other text": lambda _: "My words.",
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.sample(4)
def test_a_changed_view_is_kept_once_and_rendered_again(one: Cli, view: Path, entry: Path, change: str) -> None:
    before, changed = entry.read_bytes(), CHANGES[change](view.read_text())
    view.write_text(changed)
    place = kept(one("note", "--title", "next"))
    assert place.read_text() == changed
    assert place.stat().st_mode & 0o077 == 0
    assert place.is_relative_to(os.environ["XDG_STATE_HOME"])
    text = view.read_text()
    assert is_generated(text)
    assert [*blocks(text)] == ["header", "MOE-000", "MOE-001"]
    assert entry.read_bytes() == before, "nothing goes into the entries"
    assert one("note", "--title", "one more").err == "", "it is said once"
    assert view.read_text() == rendered(one, view)


def test_the_same_text_is_kept_once(one: Cli, view: Path) -> None:
    good = view.read_text()
    places = []
    for words in (["render"], ["render"], ["doctor", "--fix"]):
        view.write_text(f"{good}mine\n")
        places.append(kept(one(*words)))
        assert view.read_text() == good
    assert len(set(places)) == 1
    assert [path.read_text() for path in places[0].parent.iterdir()] == [f"{good}mine\n"]


def test_the_warning_stands_in_json(one: Cli, view: Path) -> None:
    view.write_text(f"{view.read_text()}mine\n")
    [warning] = json.loads(one("note", "--title", "next", "--json").out)["warnings"]
    assert Path(warning.rpartition(" is in ")[2]).read_text().endswith("mine\n")


def test_without_a_place_to_keep_it_the_text_stays(one: Cli, view: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = f"{view.read_text()}mine\n"
    view.write_text(changed)
    with monkeypatch.context() as patched:
        for name in ("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
            patched.delenv(name, raising=False)
        answer = one("note", "--title", "next")
        assert (answer.code, view.read_text()) == (0, changed)
        assert answer.err.startswith(
            "warning: recorded, but the view was not updated: no folder for the text of a view"
        )
        assert one("render").code == 2
        assert view.read_text() == changed
    assert kept(one("render")).read_text() == changed
    assert [*blocks(view.read_text())] == ["header", "MOE-000", "MOE-001"]


def test_quoted_conflict_markers_are_text(one: Cli, view: Path) -> None:
    answer = one("note", "--title", "Conflict", "--field", f"Seen={CONFLICT}")
    assert (answer.code, answer.err) == (0, "")
    assert one("run", "--", "printf", "%s", f"RESULT tflops=1\n{CONFLICT}").code == 0
    assert view.read_text().count("<<<<<<< HEAD") >= 2
    assert one("edit", "MOE-001", "--next", "go on").err == ""
    assert one("doctor").out == "moe: nothing is wrong\n"
    assert view.read_text() == rendered(one, view)


# -- what the view follows from ------------------------------------------------------------------------


def test_the_next_command_shows_what_was_edited_in_the_files(one: Cli, view: Path, entry: Path) -> None:
    entry.write_text(entry.read_text() + "fields:\n- label: Interpretation\n  text: my words\n")
    assert one("note", "--title", "second").err == ""
    assert "- Interpretation: my words" in blocks(view.read_text())["MOE-000"].text
    header = view.with_suffix("") / "logbook.yaml"
    header.write_text(f"{header.read_text()}goal: Find out.\n")
    assert one("note", "--title", "third").err == ""
    assert "Find out." in blocks(view.read_text())["header"].text
    at(entry.parent / "MOE-001.yaml").unlink()
    assert one("note", "--title", "fourth").code == 0
    assert [*blocks(view.read_text())] == ["header", "MOE-000", "MOE-002", "MOE-003"]
    assert view.read_text() == rendered(one, view)


def test_a_forged_view_shows_no_entry_that_is_not_there(one: Cli, view: Path) -> None:
    """A branch may bring a view whose last line fits."""
    good = view.read_text()
    forged = "<!-- logbook:block MOE-009 -->\n### Forged\n<!-- logbook:end MOE-009 -->\n\n"
    body = good[: good.rindex("<!-- logbook:digest ")]
    view.write_text(sealed(body + forged))
    assert one("render", "--check").code == 1
    assert one("note", "--title", "next").code == 0
    assert [*blocks(view.read_text())] == ["header", "MOE-000", "MOE-001"]
    view.write_text(sealed("<!-- logbook:block header -->\n" * 50_000))
    assert one("note", "--title", "next").code == 0
    assert view.read_text() == rendered(one, view)


# Types `logbook note --title first`, and between the reading of the records and each of the first TIMES writings of the
# view lets another process note something, and render that.
MEANWHILE = """
import runpy, subprocess, sys
left = [*range({times})]
def look(event, args):
    if event == "os.rename" and str(args[1]).endswith("/moe.md") and left:
        note = [sys.executable, "-m", "logbook_agent", "note", "--title", f"meanwhile {{left.pop()}}"]
        subprocess.run(note, check=True, stdin=subprocess.DEVNULL, timeout=60)
sys.addaudithook(look)
sys.argv = ["logbook", "note", "--title", "first"]
runpy.run_module("logbook_agent", run_name="__main__")
"""


@pytest.mark.parametrize("times", [1, 5])
def test_what_another_command_records_while_the_view_is_rendered_is_in_it(
    one: Cli, folder: Path, view: Path, times: int
) -> None:
    words = [sys.executable, "-c", MEANWHILE.format(times=times)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    text = view.read_text()
    assert [*blocks(text)] == ["header", *(f"MOE-{number:03d}" for number in range(times + 2))]
    assert text == rendered(one, view)


# -- render --check ------------------------------------------------------------------------------------


def test_check_says_whether_the_view_is_what_would_be_rendered(one: Cli, folder: Path, view: Path, entry: Path) -> None:
    good = view.read_text()
    answer = one("render", "--check")
    assert (answer.code, answer.out, answer.err) == (0, "logbooks/moe.md is up to date\n", "")
    entry.write_text(entry.read_text().replace("title: ", "title: New "))
    for text, problem, shown in (
        (good, {"problem": "outdated", "blocks": ["MOE-000"]}, "the view is out of date: MOE-000"),
        (f"{good}\n", {"problem": "changed", "blocks": []}, "the view was changed by hand or by a merge"),
        (None, {"problem": "missing", "blocks": []}, "the view is missing"),
    ):
        view.unlink(missing_ok=True)
        if text is not None:
            view.write_text(text)
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        answer = one("render", "--check")
        assert (answer.code, answer.out) == (1, f"logbooks/moe.md: {shown}\n")
        assert answer.err == "next: logbook render\n"
        answer = one("render", "--check", "--json")
        assert (answer.code, answer.data) == (1, {"view": str(view), "entries": 1, "ok": False, **problem})
        assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert one("render").code == 0
    assert one("render", "--check", "--json").data["ok"] is True


# -- git -----------------------------------------------------------------------------------------------


def commit(git: Git, message: str, cwd: Path | None = None) -> None:
    git("add", "-A", cwd=cwd)
    git("commit", "-q", "-m", message, cwd=cwd)


def test_branches_that_changed_the_view_merge_and_the_next_command_renders_it(
    git: Git, one: Cli, folder: Path, view: Path
) -> None:
    commit(git, "base")
    for branch in ("a", "b"):
        git("checkout", "-q", "-b", branch, "main")
        assert one("note", "--title", f"on {branch}").code == 0
        if branch == "a":
            assert one("edit", "MOE-000", "--field", "a=from a").code == 0
        commit(git, branch)
    git("merge", "-q", "--no-edit", "a")
    assert one("render", "--check").code == 1
    merged = view.read_text()
    # Git holds what it merged.
    assert one("note", "--title", "after").err == ""
    assert [*blocks(view.read_text())] == ["header", "MOE-000", "MOE-001", "MOE-002", "MOE-003"]
    assert "- a: from a" in view.read_text()
    assert one("render", "--check").code == 0
    view.write_text(f"{merged}mine\n")
    assert kept(one("render")).read_text() == f"{merged}mine\n"


def test_attributes_of_ones_own_stay(cli: Cli, folder: Path) -> None:
    own = folder / "logbooks/.gitattributes"
    own.parent.mkdir()
    own.write_text("*.md merge=ours\n")
    assert cli("start", "moe", "--prefix", "MOE").code == 0
    assert cli("render").code == 0
    assert own.read_text() == "*.md merge=ours\n"


def test_each_view_gets_its_line_and_other_files_none(cli: Cli, folder: Path) -> None:
    for topic in ("one", "two"):
        assert cli("start", topic, "--prefix", topic.upper()).code == 0
    lines = (folder / "logbooks/.gitattributes").read_text().splitlines()
    assert [line for line in lines if "merge" in line] == ["/one.md merge=union", "/two.md merge=union"]
    assert ".md" not in (folder / "logbooks/.gitignore").read_text()


def test_views_can_be_left_out_of_git(git: Git, started: Cli, folder: Path) -> None:
    """Where views are made on each machine, the next command shows what a pull brought."""
    view = folder / "logbooks/moe.md"
    assert started("note", "--title", "first").code == 0
    (folder / "logbook.toml").write_text("ignore_views = true\n")
    view.unlink()
    answer = started("doctor")
    assert (answer.code, answer.out.splitlines()[0]) == (0, "note: logbooks/moe.md: the view is missing")
    assert started("render").code == 0
    commit(git, "all")
    assert "logbooks/moe.md" not in git("ls-files").splitlines()
    there = folder.parent / "there"
    shutil.copytree(folder, there, symlinks=True)
    environ = {**os.environ, "PWD": str(there)}
    for words in (["note", "--title", "theirs"], ["edit", "MOE-000", "--next", "from there"]):
        subprocess.run(
            [sys.executable, "-m", "logbook_agent", *words],
            cwd=there,
            env=environ,
            check=True,
            capture_output=True,
            timeout=60,
        )
    commit(git, "theirs", cwd=there)
    git("pull", "-q", str(there))
    assert started("start", "other", "--prefix", "OTH").code == 0
    assert "/other.md" in (folder / "logbooks/.gitignore").read_text().splitlines()
    answer = started("note", "-L", "moe", "--title", "ours")
    assert (answer.code, answer.err) == (0, "")
    text = view.read_text()
    assert [*blocks(text)] == ["header", "MOE-000", "MOE-001", "MOE-002"]
    assert "- Next action: from there" in text
    assert started("render", "-L", "moe", "--check").code == 0
