"""What reaches the server: within its limit, without secrets, with nothing live but declared links."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt

from tests.contract.issue.sync_support import Bench

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
