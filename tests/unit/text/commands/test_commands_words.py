"""Command lines that real shells read as the words they were made from."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.text.shell_words import command_line, folded
from tests.breadth import examples

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True).map(lambda n: "X_" + n)


@examples(15)
@given(st.lists(TEXT, min_size=1, max_size=3), st.dictionaries(NAMES, TEXT, min_size=1, max_size=2))
def test_a_real_shell_reads_the_same_words(argv: list[str], env: dict[str, str]) -> None:
    show = ["python3", "-c", "import os,sys; sys.stdout.buffer.write(b'\\0'.join(map(os.fsencode, ["]
    names = "".join(f"os.environ[{n!r}], " for n in env)
    show[2] += names + "*sys.argv[1:]])))"
    for shell in ("bash", "sh"):
        text = command_line([*show, *argv], env)
        out = subprocess.run([shell, "-c", text], capture_output=True, check=True).stdout
        assert out.decode().split("\0") == [*env.values(), *argv]


def test_a_shell_command_stays_as_typed_and_exports_its_environment() -> None:
    script = 'for x in 1 2; do echo "$K$x"; done'
    assert command_line([script], shell=True) == script  # noqa: S604
    text = command_line([script], {"K": "v v"}, shell=True)  # noqa: S604
    assert text == f"export K='v v'; {script}"
    assert subprocess.run(["sh", "-c", text], capture_output=True, check=True).stdout == b"v v1\nv v2\n"


@pytest.mark.parametrize(
    "words",
    [
        ["python", "b.py", "--text", "a -b 'c' --d \"e\" \\ $HOME `x`", *(["-e", "A=1 -x"] * 20)],
        ["b", *(["--n#", "#", "a<<b"] * 20)],
    ],
)
def test_a_folded_command_is_the_same_command(words: list[str]) -> None:
    text = command_line(words)
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {folded(text)}"], capture_output=True, text=True, check=True)
    assert done.stdout.split("\0")[:-1] == words
