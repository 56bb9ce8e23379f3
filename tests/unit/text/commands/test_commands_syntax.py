"""What needs a shell, and what only looks so."""

from __future__ import annotations

import pytest

from logbook_agent.text.shell_words import shell_syntax


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("echo a && echo b", "&"),
        ("echo a > out.txt", ">"),
        ('tpu --name "$USER-moe"', "$U"),
        ("echo $(date)", "$("),
        ('echo "`date`"', "`"),
        ("for i in 1 2; do echo $i; done", "for"),
        ("ls *.py", "*"),
        ("ls ~/x", "~"),
        ("echo a\necho b", "a line end"),
    ],
)
def test_shell_syntax_is_found(text: str, found: str) -> None:
    assert shell_syntax(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "bash -lc 'for i in 1 2; do echo $i && echo b > c; done'",
        "python bench.py --topk 2 --shape=2x3 'a*b' \"a;b\"",
        "V=a cmd",
        r"echo \$HOME \; a\&b",
        "price 5$ a~b forward format",
    ],
)
def test_words_need_none(text: str) -> None:
    assert shell_syntax(text) is None
