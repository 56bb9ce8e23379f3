"""Nothing in an issue is live but what the logbook declares; held against a reader of Markdown of its own."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from urllib.parse import unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from logbook_agent.issue import inert

Z = "\u200b"
HERE = "https://github.com/o/r/issues/1"
PIN = "https://github.com/o/r/blob/0123456789012345678901234567890123456789/logbooks/moe.md#L12"

# What the host makes live, looked for in text that has been rendered.
LIVE = [
    re.compile(r"(?:^|[^A-Za-z0-9])@[A-Za-z0-9]"),
    re.compile(r"#[0-9]"),
    re.compile(r"(?<![A-Za-z0-9])gh-[0-9]", re.IGNORECASE),
    re.compile(r"(?<![A-Za-z0-9])(?:issues|pulls?|discussions)/[0-9]", re.IGNORECASE),
]
MARKER = re.compile(r"<!--\s*logbook", re.IGNORECASE)
LIVE_TARGET = re.compile(r"(?:^|/)(?:issues|pulls?|discussions)/[0-9]", re.IGNORECASE)


def reader() -> MarkdownIt:
    return MarkdownIt("commonmark").enable(["strikethrough", "table"])


def texts(tokens: list[Token], *, fenced: bool = False) -> Iterator[str]:
    """The text nodes of a rendered document; those of fences only when they hold output."""
    for token in tokens:
        if token.type == "html_block":
            yield from re.split(r"</?(?:details|summary)>", token.content)
        elif token.type == "code_block" or (token.type == "fence" and token.info.strip() == "text"):
            yield token.content
        run = ""
        for child in token.children or ():
            if child.type in ("text", "text_special"):
                run += child.content
            else:
                yield run
                run = ""
                yield child.content
        yield run


def targets(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        yield from (str(v) for k, v in token.attrs.items() if k in ("href", "src"))
        yield from targets(token.children or [])


def live(text: str, declared: tuple[str, ...] = ()) -> list[str]:
    """What is live in a document."""
    tokens = reader().parse(text)
    found = MARKER.findall(text)
    for node in texts(tokens):
        for address in declared:
            node = re.sub(rf"{re.escape(address)}(?!_*[A-Za-z0-9/#?-])", " ", node)
        found += [match[0] for pattern in LIVE if (match := pattern.search(node))]
    return found + [t for t in targets(tokens) if t not in declared and LIVE_TARGET.search(unquote(t))]


def fenced(text: str) -> list[tuple[str, str]]:
    return [(t.info, t.content) for t in reader().parse(text) if t.type == "fence"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ask @ada", f"ask @{Z}ada"),
        ("(@org/team)", f"(@{Z}org/team)"),
        ("é@ada", f"é@{Z}ada"),
        (r"\@ada", rf"\@{Z}ada"),
        ("_@ada_", f"_@{Z}ada_"),
        ("`@ada`", f"`@{Z}ada`"),
        ("&#64;ada", f"&#{Z}64;ada"),
        ("&#x40;ada", f"&{Z}#x40;ada"),
        ("@&#x61;da", f"@&{Z}#x61;da"),
        ("＠ada", f"＠{Z}ada"),
        ("fixes #12", f"fixes #{Z}12"),
        (r"\#12", rf"\#{Z}12"),
        ("&num;12", f"&{Z}num;12"),
        ("GH-12 gh-3", f"GH{Z}-12 gh{Z}-3"),
        (r"GH\-12", rf"GH{Z}\-12"),
        ("o/r#12", f"o/r#{Z}12"),
        ("https://ghe.corp/o/r/issues/7", f"https:{Z}//ghe.corp/o/r/issues/{Z}7"),
        ("http://h/o/r/pull/7", f"http:{Z}//h/o/r/pull/{Z}7"),
        ("[x](../issues/7)", f"[x](../issues/{Z}7)"),
        ("[x]: https://github.com/o/r/issues/7", f"[x]: https:{Z}//github.com/o/r/issues/{Z}7"),
        ("<!-- logbook:body -->", f"<{Z}!-- logbook:body -->"),
        ("a <div> `<div>`", f"a <{Z}div> `<{Z}div>`"),
        ("`a\n<div>\nb`", f"`a\n<{Z}div>\nb`"),
        ("a\r\n@b\x0b", f"a\n@{Z}b\ufffd"),
    ],
)
def test_what_would_be_live_is_broken(text: str, expected: str) -> None:
    assert inert.document(inert.contained(text)) == expected
    assert live(expected) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Plain text, 5 % of 3 @ 2, C# and a # b.\n",
        "Mail ada@example.org, pkg@1.2.3, max@k.",
        "See <https://example.com/a?b=1> and [docs](https://docs.example.com/issues).",
        "On github.com, one finds it.",
        "1 < 2 and 3 > 2, a<1, x<-y",
        "A &copy; &lt;b&gt; &amp; &nbsp;.",
        "| a | b |\n|---|---|\n| `x` | 1 |\n",
        "# Title\n\n- a\n  - b\n\n> quote\n\n```bash\nssh a@b '#1' @ada https://github.com/o/r/issues/1\n```\n",
        "- Commands:\n  ```\n  git clone https://github.com/o/r @x #1\n  ```\n- next\n",
        "> ~~~python\n> @jax.jit\n> ~~~\n",
        "``a`b`` and `1 < 2`",
    ],
)
def test_what_is_not_live_stays(text: str) -> None:
    assert inert.contained(text) == inert.document(text) == text


def test_of_html_a_document_keeps_its_own_and_shows_that_of_people() -> None:
    folded = "<details>\n<summary>More</summary>\n\na | b<br>c\n\n</details>\n"
    assert inert.document(folded) == folded
    assert inert.contained(folded) == folded.replace("<", f"<{Z}")
    assert inert.contained("<details open>\n\n<details>`<!--`\n") == f"<{Z}details open>\n\n<{Z}details>`<{Z}!--`\n"


def test_output_of_programs_is_dead_in_its_fence() -> None:
    output = f"{HERE} @ada fixes #1\n<!-- logbook:1 --> <div> `x` &copy; ok\n"
    dead = f"https:{Z}//github.com/o/r/issues/{Z}1 @{Z}ada fixes #{Z}1\n<{Z}!-- logbook:1 --> <div> `x` &copy; ok\n"
    assert inert.log(output) == dead
    assert inert.document(f"```text\n{output}```\n", [HERE]) == f"```text\n{dead}```\n"
    assert inert.document(f"```bash\n{HERE}\n<!--logbook -->\n```") == f"```bash\n{HERE}\n<{Z}!--logbook -->\n```"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HERE, HERE),
        (f"{HERE}.", f"{HERE}."),
        (f"[#{Z}1]({HERE}) <{HERE}> **{HERE}**, {PIN}", f"[#{Z}1]({HERE}) <{HERE}> **{HERE}**, {PIN}"),
        (f"{HERE}2", f"https:{Z}//github.com/o/r/issues/{Z}12"),
        (f"{HERE}#issuecomment-5", f"https:{Z}//github.com/o/r/issues/{Z}1#issuecomment-5"),
        (f"http://x/?u={HERE}", f"http:{Z}//x/?u=https:{Z}//github.com/o/r/issues/{Z}1"),
        (rf"{HERE}\_", rf"https:{Z}//github.com/o/r/issues/{Z}1\_"),
    ],
)
def test_declared_addresses_stay_where_they_stand_exactly(text: str, expected: str) -> None:
    assert inert.document(text, (HERE, PIN)) == expected
    assert inert.document(expected, (HERE, PIN)) == expected
    assert live(expected, (HERE, PIN)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```\nx", "```\nx\n```"),
        ("````py\n```\n", "````py\n```\n````\n"),
        ("- a\n  ~~~\n  x", "- a\n  ~~~\n  x\n  ~~~"),
        ("> ```\n> x\n\nb", "> ```\n> x\n> ```\n\nb"),
        ("```\n    ```", "```\n    ```\n```"),
    ],
)
def test_prose_closes_its_fences(text: str, expected: str) -> None:
    assert inert.contained(text) == expected
    tokens = reader().parse(expected + "\n\nlast")
    assert tokens[-2].content == "last"


PIECES = st.sampled_from(
    [
        *("```", "```bash", "````", "~~~", "~~~ text", "```text", "``", "`", "- ", "* ", "1. ", "2. ", "> ", ">"),
        *("    ", "  ", " ", "\t", "\n", "\n\n", "\r\n", "|", "a|b\n-|-\n", "-|-", "---", "===", "# ", "[^1]: "),
        *("@ada", "@", "ada", "#12", "#", "GH-1", "gh", "-", "12", "o/r", "\\", "&#64;", "&commat;", "&#x23;", "&"),
        *(
            "fixes ",
            HERE,
            f"{HERE}2",
            "https://",
            "github.com",
            "www.",
            "/issues/",
            "/pull/3",
            "(",
            ")",
            "[",
            "]",
            "](",
        ),
        *("<", ">", "<div>", "<!--", "-->", "<!-- logbook:1 -->", "<details>", "</details>", "<summary>", "<br>"),
        *(
            "<pre>",
            "<br>\u00a0\n",
            Z,
            "\u00a0",
            "\u2028",
            "\x0c",
            "\x0b",
            "é",
            "*",
            "**",
            "_",
            "~~",
            ":",
            "0123456",
            "%75",
        ),
    ]
)
HOSTILE = st.lists(PIECES, max_size=40).map("".join)


@settings(deadline=None)
@given(HOSTILE)
def test_no_text_is_live(text: str) -> None:
    for result in (inert.document(text), inert.document(inert.contained(text))):
        assert live(result) == []
    assert live(inert.document(text, [HERE]), (HERE,)) == []


@settings(deadline=None)
@given(HOSTILE)
@example(">- ```")
@example(">1. ~~~\n>    code")
@example(">>- ```")
@example("<https://github.com/o/r/issues/12>")
def test_a_second_pass_changes_nothing(text: str) -> None:
    for once in (inert.document(text, [HERE]), inert.contained(text), inert.log(text)):
        assert inert.document(inert.document(once, [HERE]), [HERE]) == inert.document(once, [HERE])
    once = inert.document(text, [HERE])
    assert inert.document(once, [HERE]) == once
    assert inert.contained(inert.contained(text)) == inert.contained(text)
    assert inert.log(inert.log(text)) == inert.log(text)


@settings(deadline=None)
@given(HOSTILE)
def test_nothing_but_what_is_hidden_or_html_is_added(text: str) -> None:
    plain = inert.without_controls(text)
    assert inert.document(text).replace(Z, "") == plain.replace(Z, "")
    assert inert.log(text).replace(Z, "") == plain.replace(Z, "")


@settings(deadline=None)
@given(HOSTILE, HOSTILE)
def test_prose_swallows_nothing_behind_it(text: str, more: str) -> None:
    tokens = reader().parse(inert.document(f"{inert.contained(text)}\n\nlast words\n"))
    assert any(t.type == "inline" and t.content == "last words" for t in tokens)


INNER = st.lists(PIECES.filter(lambda p: "`" not in p and "~" not in p), max_size=12).map(
    lambda parts: inert.without_controls("".join(parts)).replace("logbook", "x")
)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["", "bash", "py x=1", "diff"]), INNER, st.sampled_from(["", "  "])), max_size=4)
)
def test_commands_are_verbatim(blocks: list[tuple[str, str, str]]) -> None:
    """At the top and in a list, among text that is live."""
    parts = []
    for info, inner, margin in blocks:
        body = "\n".join(margin + line for line in ["```" + info, *inner.split("\n"), "```"])
        parts.append(("- @ada #1\n" if margin else "<section> @ada\n\n") + body)
    text = "\n\n".join(parts)
    after = fenced(inert.document(text))
    assert after == fenced(text.replace("<section>", "section"))
    assert len(after) == len(blocks)


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        *(
            "word @user #12 https://github.com/a/b/issues/3 `x`\n\n",
            "](",
            "[",
            "`a",
            "\\`",
            "&a",
            "https:",
            "<!--",
            "@",
        ),
        *("```\n", "- a\n", "> ", "a|b\n-|-\n", "- ```\n", "<a", ">\n- ~~~\n", "2. ~~~\n"),
    ],
)
@pytest.mark.sample(2)
def test_the_cost_of_hostile_text_grows_with_its_length(unit: str) -> None:
    def cost(length: int) -> float:
        text = f"<a ```\n{unit * (length // len(unit))}"
        started = time.process_time()
        inert.document(text, [HERE])
        return time.process_time() - started

    small = max(min(cost(10_000) for _ in range(3)), 0.005)
    assert min(cost(60_000) for _ in range(2)) < small * 6 * 4
