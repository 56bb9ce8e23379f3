"""Text within its room, cut where nothing breaks; what is kept is held against a reader of Markdown of its own."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from logbook_agent.text import fit

FAMILY = "👨‍👩‍👧‍👦"
FLAG = "🇩🇪"


def reader() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")


def nothing_is_open(text: str) -> bool:
    """Whether words behind the text are words of their own."""
    tokens = reader().parse(f"{text}\n\nlast words")
    return any(t.type == "inline" and t.content == "last words" for t in tokens)


def check(text: str, room: int) -> fit.Shortened:
    """What holds for whatever is shortened."""
    short = fit.shorten(text, room)
    assert fit.size(short.text) <= max(0, room)
    if fit.size(text) <= room:
        assert short == fit.Shortened(text=text, left_out=0)
        return short
    kept = fit.size(text) - short.left_out
    start = text.encode("utf-8", "surrogatepass")[:kept].decode("utf-8", "surrogatepass")
    assert short.text.startswith(start)
    closers = short.text[len(start) :]
    assert re.fullmatch(r"(\n[ >\t]*(`{3,}|~{3,}))?(\n\n</details>)*", closers)
    assert nothing_is_open(short.text)
    return short


@pytest.mark.parametrize(
    ("text", "room", "expected", "left_out"),
    [
        ("one two three", 9, "one two", 6),
        ("one two three", 6, "one", 10),
        ("abc", -1, "", 3),
        (f"{FAMILY} {FAMILY}", 30, FAMILY, 26),
        ("First block.\n\nSecond one here.", 20, "First block.\n\nSecond", 10),
        ("Intro:\n\nLonger words here and there.", 22, "Intro:\n\nLonger words", 16),
        ("https://example.com/1234567890", 20, "", 30),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n", 35, "| a | b |\n|---|---|\n| 1 | 2 |", 11),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n", 25, "", 40),
        ("```py\none\ntwo\nthree\n```\n", 9, "", 24),
        ("> 1. ```\n>    x\n>    yyy\n>    ```\n", 27, "> 1. ```\n>    x\n>    ```", 19),
        ("a\n\n    c1\n    c2\n    c3", 17, "a\n\n    c1\n    c2", 7),
        ("foo\n-- bar", 8, "foo", 7),
        (
            "<details>\n<summary>x</summary>\n\nwords and words and yet more of them\n\n</details>\n",
            75,
            "<details>\n<summary>x</summary>\n\nwords and words and yet more of\n\n</details>",
            18,
        ),
    ],
)
def test_where_a_text_is_cut(text: str, room: int, expected: str, left_out: int) -> None:
    assert fit.shorten(text, room) == fit.Shortened(text=expected, left_out=left_out)
    check(text, room)


BLOCKS = st.sampled_from(
    [
        *(
            "words and more words",
            "`code with blanks`",
            '[a link](https://x.y/z "t")',
            FAMILY * 3,
            FLAG * 3,
            "e\u0301" * 5,
        ),
        *("\n\n", "\n", "\n- ", "\n  - ", "\n1. ", "\n> ", "\n> - ", "\n# Title ", "\n\n```py\n", "\n```\n", "\n~~~\n"),
        *(
            "\n\n  ```\n  x\n  y\n  z\n  ```\n",
            "\n\n- ```sh\n  a\n  b\n  ```\n",
            "\n> ~~~\n> a\n> b\n> ~~~\n",
            "\n---\n",
        ),
        *(
            "\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n\n",
            "|",
            "`",
            "``",
            "[",
            "](",
            ")",
            "\\",
            "*",
            " ",
        ),
        *(
            "\n\n<details>\n<summary>S</summary>\n\n",
            "\n\n</details>\n\n",
            "    ",
            "\t",
            "x" * 60,
            "ü" * 20,
            "``` `x`",
        ),
    ]
)
TEXTS = st.lists(BLOCKS, max_size=25).map("".join)


@settings(deadline=None)
@given(TEXTS, st.integers(min_value=0, max_value=400))
def test_whatever_is_cut_is_a_whole_start(text: str, room: int) -> None:
    # HTML is escaped in prose, so none but our own is there.
    check(text, room)


HUGE = {
    "emoji": f"{FAMILY} " * 40_000,
    "one word": "x" * 1_000_000,
    "table": "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 100_000,
    "fence": "```\n" + "a line\n" * 140_000 + "```\n",
    "code": f"see `{'a ' * 500_000}`",
    "details": "<details>\n\n" * 90_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HUGE)
@pytest.mark.sample(3)
def test_a_megabyte_is_cut_at_once(name: str) -> None:
    room = 60_000
    started = time.process_time()
    short = fit.shorten(HUGE[name], room)
    assert time.process_time() - started < 3  # about 0.4 s at most when nothing else runs
    assert fit.size(short.text) <= room
    if name not in ("code", "details"):
        assert fit.size(short.text) > room * 0.7
    if name == "code":
        assert short.text == "see"


def test_a_document_that_does_not_fit_is_cut_and_says_so() -> None:
    whole = "# Update\n\n" + "some words " * 100
    assert fit.cut(whole, 2_000) == whole
    text = fit.cut(whole, 300)
    assert fit.size(text) <= 300
    start, _, note = text.partition("\n\n_")
    assert whole.startswith(start)
    assert note == f"{fit.size(whole) - fit.size(start):,} bytes are left out here._\n"
