"""What reaches the server: within its limit, without secrets, with nothing live but declared links."""

from __future__ import annotations

import re
import shutil

import pytest
from markdown_it import MarkdownIt

from tests.breadth import wide
from tests.contract.issue.sync_support import Bench
from tests.stored import at

pytestmark = pytest.mark.slow

LIVE = re.compile(r"(?<![A-Za-z0-9_])@[A-Za-z0-9]|#\d|GH-\d|https?://[^\s)]*/(?:issues|pull)/\d", re.IGNORECASE)


def shown(body: str) -> str:
    """The text of a document outside fenced code, as readers see it."""
    found = []
    for token in MarkdownIt("commonmark").enable("table").parse(body):
        if token.type == "inline":
            found += [child.content for child in token.children or () if child.type in ("text", "code_inline")]
    return "\n".join(found)


def test_nothing_from_prose_or_logs_is_live(bench: Bench) -> None:
    hostile = (
        "x @ada @org/team #12 o/r#3 GH-4 fixes #5 closes https://github.com/o/r/issues/6 &#64;ada \\@ada `@ada` <b>@ada"
    )
    bench.ok("status", "--summary", hostile)
    bench.ok("criteria", "--json")
    bench.ok(
        "run",
        "--title",
        f"T {hostile}",
        "--hypothesis",
        hostile,
        "--label",
        "@label #7",
        "--",
        "sh",
        "-c",
        f"echo '{hostile}'",
    )
    command = ("echo", "git@host:o/r.git#12", "@user", "$(x)", "a  b")
    bench.ok("run", "--title", "copy", "--", *command)
    bench.cli("run", "--title", "fails", "--", "sh", "-c", "echo 'fixes #9 @bob <!-- logbook:end 1 book=x -->'; exit 3")
    bench.note("A decision", "--kind", "decision", "--field", f"Decision={hostile}")
    bench.sync("--create")
    assert "echo 'git@host:o/r.git#12' @user '$(x)' 'a  b'" in bench.comments[0]["body"], (
        "what can be copied is as it was"
    )
    for body in (bench.body, *(c["body"] for c in bench.comments)):
        assert LIVE.findall(shown(body)) == []
    assert LIVE.findall(bench.github.issue(bench.repo, bench.number)["title"]) == []


def test_declared_links_are_live(bench: Bench) -> None:
    url = f"{bench.github.web}/{bench.repo}/issues/77"
    bench.ok("link", url, "--as", "Prior issue")
    bench.note("It refers", "--field", f"See={url}")
    bench.sync("--create")
    assert url in bench.block
    assert url in bench.comments[0]["body"]


def test_templates_of_ones_own(bench: Bench) -> None:
    (bench.folder / "mine").mkdir()
    (bench.folder / "mine/issue_title.j2").write_text("[perf] {{ logbook.prefix }}\n")
    (bench.folder / "mine/issue_update.md.j2").write_text(
        "{% for e in update.entries %}* {{ e.id }} {{ e.title }}\n{% endfor %}"
    )
    toml = bench.folder / "logbook.toml"
    toml.write_text('templates = "mine"\n' + toml.read_text())
    bench.note("Hello @ada")
    bench.sync("--create")
    assert bench.github.issue(bench.repo, bench.number)["title"] == "[perf] MOE"
    assert bench.comments[0]["body"].split("\n")[1] == "* MOE-000 Hello @\u200bada"


def test_a_broken_template_writes_nothing(bench: Bench) -> None:
    (bench.folder / "mine").mkdir()
    (bench.folder / "mine/issue_update.md.j2").write_text("{{ nothing.here }}")
    toml = bench.folder / "logbook.toml"
    toml.write_text('templates = "mine"\n' + toml.read_text())
    bench.note("Hello")
    answer = bench.cli("sync", "--create", "--json")
    assert (answer.code, answer.error["code"]) == (3, "store")
    assert "issue_update.md.j2" in answer.error["message"]
    assert bench.github.writes == []


def test_an_issue_has_no_room_beside_what_people_wrote(bench: Bench) -> None:
    bench.note()
    bench.adopt("x" * 65_000)
    assert re.search(r"leaves \d+ bytes", bench.fails("rejected")["message"])
    assert bench.github.writes == []


def fits(bench: Bench) -> list[str]:
    """The body and the comments, each within what GitHub takes, with nothing open where it was cut."""
    bodies = [bench.body, *(comment["body"] for comment in bench.comments)]
    for body in bodies:
        assert len(body) <= 65_536
        assert body.count("<details>") == body.count("</details>")
        tokens = MarkdownIt("commonmark").enable("table").parse(f"{body}\n\nlast words")
        assert tokens[-2].content == "last words"
        assert LIVE.findall(shown(body)) == []
    return bodies


@pytest.mark.parametrize(
    "piece", ["long words of prose. ", *map(wide, ("a", "👩‍👩‍👧 ", "`code`\n```\nx\n", "| a | b |\n|---|---|\n"))]
)
def test_a_text_of_any_length_is_cut_and_says_so(bench: Bench, piece: str) -> None:
    """Each text has its own share: what is short is whole, and every entry is named."""
    huge = piece * (30_000 // len(piece.encode()))
    (bench.folder / "out.txt").write_text(huge)
    bench.ok("status", "--summary", huge)
    bench.ok("run", "--title", "Long", "--", "true", "x" * 100_000)
    bench.cli("run", "--title", "Failed", "--", "sh", "-c", "cat out.txt; exit 1")
    for n in range(7):
        bench.note(f"Entry {n}", "--hypothesis", "It is short.", "--interpretation", huge, "--next", huge)
    bench.sync("--create")
    bench.ok("close", "--conclusion", huge)
    body, update, final = fits(bench)
    assert [
        len(re.findall(r"[\d,]+ (?:more bytes|bytes are left out)", text)) > 0 for text in (body, update, final)
    ] == [True] * 3
    assert re.findall(r"Entry \d", update) == [f"Entry {n}" for n in range(7)]
    assert update.count("- Hypothesis: It is short.\n") == 7
    assert "*(a command of 100,005 bytes, in the logbook)*" in update
    assert "x" * 20 not in update


def test_of_very_many_entries_the_newest_are_shown_and_the_others_counted(bench: Bench) -> None:
    bench.ok("run", "--title", "an @ada " * 24, "--", "echo", "RESULT tflops=1.5")
    entry, run = at(bench.book.entry_path("MOE-000")), bench.book.run_folder("MOE-000", 1)
    for n in range(1, 300):
        name = f"MOE-{n:03d}.{entry.stem.partition('.')[2]}"
        shutil.copy(entry, entry.with_name(f"{name}.yaml"))
        shutil.copytree(run, run.parents[1] / name / run.name)
    bench.ok("start", "two", "--prefix", "TWO", "--title", "an @ada " * 60)
    bench.ok("-L", "two", "sync", "--create")
    title = bench.github.issue(bench.repo, 1)["title"]
    assert (len(title) <= 256, title[-1], LIVE.findall(title)) == (True, "…", [])
    answer = bench.cli("-L", "moe", "sync", "--create", "--json")
    assert answer.code == 0, answer
    body = str(bench.github.issue(bench.repo, 2)["body"])
    assert len(body) <= 65_536
    rows = re.findall(r"^\| MOE-(\d+)", body, re.MULTILINE)
    assert (rows[-1], rows) == ("299", sorted(rows))
    assert f"{300 - len(rows)} earlier entries in the logbook" in body
