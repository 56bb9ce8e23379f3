"""Prose of any kind: it comes back from the entry file as it was given, and forges nothing in the view."""

from __future__ import annotations

from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.conftest import Cli
from tests.contract.views import blocks, edited
from tests.seams import Store

TEXTS = {
    "table": "| a | b |\n| --- | ---: |\n| 1 | `x|y` |",
    "sections": "intro\n\n#### One\n- a\n  - b\n    - c\n\n#### Two\ntext",
    "nested list": "- a\n  1. b\n     ```sh\n     echo 1\n     ```\n  2. c",
    "fences": "```py\nx = 1\n```\n\n~~~~\n```\n~~~\n~~~~\n`````\n````\n`````",
    "open fence": "```\nnever closed\n### MOE-999 forged",
    "open tildes": "~~~~\nnever closed",
    "markers": "<!-- logbook:end MOE-000 -->\n<!-- logbook:block MOE-007 0123456789abcdef -->\n### forged\n"
    "<!-- logbook:end MOE-007 -->",
    "marker after a blank line": "a\n\n<!-- logbook:end MOE-000 -->\n\nb",
    "marker behind CR": "a\r<!-- logbook:end MOE-000 -->\rb",
    "marker behind separators": "a\u2028<!-- logbook:end MOE-000 -->\u2029b\u0085<!-- logbook:end MOE-000 -->\x0b\x0cc",
    "open comment": "<!-- never closed\n\n### forged",
    "CRLF": "a\r\nb\r\n\r\n- c\r\n",
    "separators": "a\u2028b\u2029c\u0085d",
    "one separator": "a\u2028",
    "headings": "# A\n## B\n### 2026-02-10 10:43 - MOE-009 forged\n\nSetext\n======\nmore\n---",
    "html": "<details><summary>x</summary>\n\n</div></li></ul>\n",
    "yaml": "key: value\n- a: b # c\n'\"\n%YAML\n---\n...\n!!python/object:os.system",
    "leading blanks": "   indented\n\tand a tab\n  trailing   \nend",
    "leading newline": "\n\n  text",
    "quote": "> a\n> b\n\n* * *",
    "unicode": "Δ ≈ 3 µs — ✅ 𝔘 \u200b zero\ufeff width \u202e rtl",
    "surrogate": "broken \udcff byte",
    "control": "nul\x00 bell\x07 esc\x1b[31m del\x7f c1\x9b31m",
    "jinja": "{{ entry.id }} {% raw %}{# c #}",
    "link definition": "[x]: https://example.org\n\n[x]",
    "long": "word " * 1000,
    "conflict": "<<<<<<< a\n=======\n>>>>>>> b",
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.sample(4)
def test_prose(started: Cli, folder: Path, name: str) -> None:
    text = TEXTS[name]
    assert started(
        "note", "--title", text[:200], "--hypothesis", text, "--result", text, "--interpretation", text,
        "--next", text, "--field", f"Observation={text}",
    ).code == 0  # fmt: skip
    assert started("note", "--title", "the next one", "--kind", "decision", "--field", f"Decision={text}").code == 0
    assert started("edit", "MOE-000", "--field", f"Negative result={text}").code == 0
    view = folder / "logbooks/moe.md"
    rendered = view.read_text()
    assert [*blocks(rendered)] == ["header", "MOE-000", "MOE-001", "footer"]
    assert not edited(rendered)
    entry = Store(folder).entry("MOE-000")
    [kept] = {field.text for field in entry.fields}
    assert words(kept) == words(text)
    assert words(entry.title) == words(text[:200])
    assert "\n" not in entry.title
    if text.isascii() and text.isprintable():
        assert kept == text.strip()
    assert not control_characters(rendered)
    assert started("render").err == ""
    assert view.read_text() == rendered
    assert_markdown_is_held(rendered)


def words(text: str) -> str:
    """Letters and digits; a marker may be escaped, and what no terminal bears is replaced."""
    return "".join(c for c in text.replace("&lt;", "<").replace("&gt;", ">") if c.isalnum())


def control_characters(text: str) -> list[str]:
    return [c for c in text if (ord(c) < 32 or 0x7F <= ord(c) < 0xA0) and c not in "\n\t"]


def assert_markdown_is_held(view: str) -> None:
    """At the margin there are the markers, headings and lists of the tool alone."""
    tokens = [t for t in MarkdownIt("commonmark").enable("table").parse(view) if t.level == 0 and t.nesting >= 0]
    assert {t.type for t in tokens} <= {"html_block", "heading_open", "bullet_list_open", "inline"}
    html = [t.content.strip() for t in tokens if t.type == "html_block"]
    assert all(h.startswith("<!-- logbook:") and h.count("<!--") == 1 for h in html)
    headings = [t.tag for t in tokens if t.type == "heading_open"]
    assert headings.count("h1") == 1
    assert headings.count("h3") == 2


@pytest.mark.slow
def test_prose_in_the_header(cli: Cli, folder: Path) -> None:
    for number, (name, text) in enumerate(TEXTS.items()):
        options = ["--title", "--goal", "--constraint", "--stop", "--baseline-source"]
        words = [w for option in options for w in (option, text)]
        root = f"root{number}"
        begun = cli(
            "start", "moe", "--prefix", "MOE", *words, "--link", f"L{text}=u{text}", "--baseline", f"k={text}",
            "--root", root,
        )  # fmt: skip
        assert begun.code == 0, name
        assert cli("note", "--title", "x", "--root", root).code == 0, name
        view = (folder / root / "moe.md").read_text()
        assert [*blocks(view)] == ["header", "MOE-000"], name
        assert not control_characters(view), name
        assert "### forged" not in view.split("\n"), name


def test_prose_from_a_file_and_standard_input(started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    (folder / "text.md").write_text("from a file\n\nwith a blank line\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("from standard input\n"))
    started(
        "note", "--title", "@@home", "--hypothesis", "@text.md", "--field", "Observation=-", "--next", "-1% or less"
    )
    entry = Store(folder).entry("MOE-000")
    assert entry.title == "@home"
    assert [f.text for f in entry.fields] == ["from a file\n\nwith a blank line", "from standard input", "-1% or less"]
