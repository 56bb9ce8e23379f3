"""What reaches the server: within its limit, without secrets, with nothing live but declared links."""

from __future__ import annotations

import os
import re

import pytest
from markdown_it import MarkdownIt

from tests.issue.sync_support import Bench

pytestmark = pytest.mark.slow

LIMIT = 65_536
SECRET = "s3cr3t-value-of-mine"
TOKEN = "gh" + "p_" + "a1B2" * 9
LIVE = re.compile(r"(?<![A-Za-z0-9_])@[A-Za-z0-9]|#\d|GH-\d|https?://[^\s)]*/(?:issues|pull)/\d", re.IGNORECASE)


def texts(bench: Bench) -> list[str]:
    """Everything that was ever sent to be stored."""
    return [request.body for request in bench.github.requests if request.is_write]


def shown(body: str) -> str:
    """The text of a document outside fenced code, as readers see it."""
    found = []
    for token in MarkdownIt("commonmark").enable("table").parse(body):
        if token.type == "inline":
            found += [child.content for child in token.children or () if child.type in ("text", "code_inline")]
    return "\n".join(found)


def sizes() -> list[object]:
    """Every form with every letter; two of them are quick enough for every day."""
    forms = ("line", "lines", "fence", "table", "list")
    quick = {("lines", "x"), ("fence", "\N{ROCKET}")}
    pairs = [(form, letter) for form in forms for letter in ("x", "\N{ROCKET}", "👩‍👩‍👧‍👦 ")]
    return [pytest.param(*pair, marks=() if pair in quick else [pytest.mark.slow, pytest.mark.wide]) for pair in pairs]


@pytest.mark.parametrize(("form", "letter"), sizes())
@pytest.mark.sample(1)
@pytest.mark.slow
def test_entries_of_any_size_fit(bench: Bench, letter: str, form: str) -> None:
    line = letter * 40
    text = {
        "line": line * 2_000,
        "lines": f"{line}\n" * 2_000,
        "fence": "```python\n" + f"{line}\n" * 2_000 + "```",
        "table": "| a | b |\n| --- | --- |\n" + f"| {line} | {line} |\n" * 1_000,
        "list": f"- {line}\n  - {line}\n" * 1_000,
    }[form]
    (bench.folder / "long.md").write_text(text)
    entry = bench.note("Long", "--field", "Notes=@long.md")
    bench.sync("--create")
    [comment] = bench.comments
    assert len(comment["body"].encode()) <= LIMIT
    assert len(bench.body.encode()) <= LIMIT
    assert letter.strip() in comment["body"] or form == "table"
    assert "�" not in comment["body"]
    # On an update as well, and nothing is written the next time.
    bench.ok("edit", entry, "--field", f"More={line}", "--interpretation", "@long.md")
    bench.sync()
    [comment] = bench.comments
    assert len(comment["body"].encode()) <= LIMIT
    assert re.search(r"left out|bytes", comment["body"])
    assert bench.sync()["steps"] == []


@pytest.mark.slow
def test_a_thousand_entries_fit_into_the_block(bench: Bench) -> None:
    for number in range(30):
        bench.ok(
            "run", "--title", f"{'long title ' * 15}{number}", "--", "echo", f"RESULT tflops={number} topk={number}"
        )
    bench.ok("edit", "MOE-003", "--field", f"Negative result={'it did not help ' * 3000}")
    bench.sync("--create")
    assert len(bench.body.encode()) <= LIMIT
    assert "MOE-029" in bench.block


@pytest.mark.slow
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
    bench.cli("run", "--title", "fails", "--", "sh", "-c", "echo 'fixes #9 @bob <!-- logbook:end 1 book=x -->'; exit 3")
    bench.note("A decision", "--kind", "decision", "--field", f"Decision={hostile}")
    bench.sync("--create")
    for body in (bench.body, *(c["body"] for c in bench.comments)):
        assert LIVE.findall(shown(body)) == []
    assert LIVE.findall(bench.github.issue(bench.repo, bench.number)["title"]) == []


@pytest.mark.slow
def test_a_comment_follows_where_the_compared_entries_stand(bench: Bench) -> None:
    runs = ["run", "--repeat", "2", "--", "sh", "-c"]
    bench.ok(*runs, "echo RESULT tflops=10 q=none")
    bench.sync("--create")  # in a comment of its own
    bench.ok(*runs, "echo RESULT tflops=20 q=int8")
    bench.ok("compare", "MOE-000", "MOE-001", "--axis", "q", "--save", "MOE-001")
    bench.sync()
    kept = next(i for i, c in enumerate(bench.comments) if "### MOE-001" in c["body"])
    assert "MOE-000 is void" not in bench.comments[kept]["body"]
    bench.ok("edit", "MOE-000", "--state", "void")
    bench.sync()
    assert "MOE-000 is void" in bench.comments[kept]["body"]
    assert bench.sync()["steps"] == []


@pytest.mark.slow
def test_the_issue_begins_with_the_answers_and_follows_a_comparison_that_goes_on(bench: Bench) -> None:
    script = "echo METRIC tflops=10${MODE:-0}.$LOGBOOK_RUN"
    ab = ("--axis", "env:MODE=,6", "--seed", "1", "--repeat", "8", "--", "sh", "-c", script)
    bench.ok("ab", "--title", "Six", *ab)
    bench.sync("--create")
    lines = bench.block.splitlines()
    assert lines[lines.index("## TL;DR") + 2].startswith("Asked: ")
    answer = lines[lines.index("## TL;DR") + 4]
    assert answer.startswith("- **MODE=6 has ")
    assert answer.endswith(" pairs)** (MOE-000 Six)")
    assert answer.count("**") == 2
    assert "| MODE=6: 106" in bench.block
    bench.ok("ab", "--title", "Six again", *ab)
    bench.sync()
    assert "(MOE-001 Six again" in bench.block
    assert "(MOE-000 Six)" not in bench.block
    kept = next(c["body"] for c in bench.comments if "### MOE-000" in c["body"])
    assert "Continued in MOE-001, which has the answer." in kept
    assert bench.sync()["steps"] == []


def test_commands_can_be_copied(bench: Bench) -> None:
    bench.ok("run", "--title", "copy", "--", "echo", "git@host:o/r.git#12", "@user", "$(x)", "a  b")
    bench.sync("--create")
    assert "echo 'git@host:o/r.git#12' @user '$(x)' 'a  b'" in bench.comments[0]["body"]


def test_declared_links_are_live(bench: Bench) -> None:
    url = f"{bench.github.web}/{bench.repo}/issues/77"
    bench.ok("link", url, "--as", "Prior issue", "--one-way")
    bench.note("It refers", "--field", f"See={url}")
    bench.sync("--create")
    assert url in bench.block
    assert url in bench.comments[0]["body"]


@pytest.mark.slow
def test_planted_secrets_do_not_reach_the_server(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET", SECRET)
    bench.ok("run", "--title", "leak", "--", "sh", "-c", f"echo {SECRET} {TOKEN} password=hunter2hunter2")
    entry = bench.note("By hand")
    path = bench.book.entry_path(entry)
    path.write_text(
        path.read_text()
        + f"fields:\n- {{label: Notes, text: 'the key is {SECRET}, {TOKEN}, https://me:pw12345678@h.example/x'}}\n"
    )
    header = bench.book.header_path
    header.write_text(header.read_text().replace("find out", f"find out {SECRET}"))
    bench.sync("--create")
    sent = "\n".join(texts(bench))
    assert sent
    for secret in (SECRET, TOKEN, "hunter2hunter2", "pw12345678"):
        assert secret not in sent
    assert "$MY_SECRET" in sent


def test_the_token_is_shown_nowhere(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    token = os.environ["GH_ENTERPRISE_TOKEN"]
    bench.note("mentions nothing")
    answers = [bench.cli("sync", "--create", "--dry-run"), bench.cli("sync", "--create"), bench.cli("sync", "--json")]
    monkeypatch.setenv("GH_ENTERPRISE_TOKEN", token + "-wrong")
    answers.append(bench.cli("sync"))
    assert answers[-1].code == 4
    for answer in answers:
        assert token not in answer.out + answer.err
    for path in bench.folder.rglob("*"):
        if path.is_file():
            assert token.encode() not in path.read_bytes()


def test_the_token_goes_to_its_own_host_alone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of github.com's token nothing is sent to another host, and that of an Enterprise to no host that the user did not
    name outside of the repository."""
    bench.note("one")
    monkeypatch.setenv("GH_TOKEN", "gh-com-token-1234567")
    monkeypatch.delenv("GH_ENTERPRISE_TOKEN")
    answer = bench.cli("sync", "--create", "--json")
    assert (answer.code, answer.error["code"]) == (4, "no_token")
    monkeypatch.setenv("GH_ENTERPRISE_TOKEN", bench.github.token)
    (bench.folder / "logbook.toml").unlink()
    bench.ok("link", f"{bench.github.web}/{bench.repo}/issues/1")
    monkeypatch.delenv("GH_HOST")
    answer = bench.cli("sync", "--json")
    assert (answer.code, answer.error["code"]) == (4, "host_not_confirmed")
    assert bench.github.requests == []


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
