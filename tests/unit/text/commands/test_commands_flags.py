"""Flags, scripts and titles of commands."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.text.commands.flags import flags, parts
from logbook_agent.text.commands.script import TITLE_CHARS, simple_commands, title_of

LOOP = (
    "set -euo pipefail; for pm in none ep; do for tk in 2 8; do .venv/bin/python lib/bench_moe_hillclimb.py "
    '--tokens 32768 --topk "$tk" --parallel-mode "$pm" --shared-fused --iters 3; done; done'
)


def words(script: str) -> list[list[str]]:
    return [[w.text for w in c] for c in simple_commands(script)]


def test_names_and_values_in_every_spelling() -> None:
    argv = shlex.split("python x.py --quant-mode int8 --impl=fused --lr -0.1 --shared-fused --seed 1 model.dim=64")
    assert flags(argv) == {
        "quant_mode": "int8",
        "impl": "fused",
        "lr": "-0.1",
        "shared_fused": None,
        "seed": "1",
        "model.dim": "64",
    }


def test_a_loop_in_a_script_leaves_its_variable_unknown() -> None:
    found = flags(["/bin/bash", "-lc", LOOP])
    assert found["tokens"] == "32768"
    assert found["topk"] is None
    assert found["parallel_mode"] is None
    assert found["shared_fused"] is None
    assert "pipefail" not in found


def test_a_launchers_own_options_are_not_the_commands() -> None:
    argv = ["uv", "run", "scripts/ray/dev_tpu.py", "--config", "x.yaml", "--tpu-name", "t", "execute"]
    assert flags([*argv, "--", "uv", "run", "--package", "p", "x.py", "--topk", "2"]) == {"topk": "2"}
    assert flags([*argv, "--", "x.py --topk 2 && hostname"]) == {"topk": "2"}


def test_a_sweeping_flag_names_the_key_it_varies() -> None:
    assert flags(["x", "--topk-list", "1,2,4"]) == {"topk_list": "1,2,4", "topk": None}
    assert flags(["x", "--no-fused"]) == {"no_fused": None, "fused": None}


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("a; b && c | d &\ne", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("a >out 2>&1 <in --x 1", [["a", "--x", "1"]]),
        ("cat <<'EOF'\n--no such\nEOF\nb", [["cat"], ["b"]]),
        ('read -r A B <<<"${shape}"', [["read", "-r", "A", "B"]]),
        ("a 'unfinished", [["a", "unfinished"]]),
        ("a \\\n  --b", [["a", "--b"]]),
    ],
)
def test_scripts(script: str, expected: list[list[str]]) -> None:
    assert words(script) == expected


@given(st.text("ab'\"\\$(){}`;|&<>#\n -=1", max_size=40))
def test_any_script_is_read_and_any_title_fits(script: str) -> None:
    flags(["bash", "-c", script])
    title = title_of(["bash", "-c", script])
    assert 0 < len(title) <= TITLE_CHARS
    assert title.isprintable()


@given(st.lists(st.text("ab' \t$é\"\\", min_size=1, max_size=6), min_size=1, max_size=5))
def test_what_shlex_quotes_is_read_back(argv: list[str]) -> None:
    assert words(shlex.join(["x", *argv])) == [["x", *argv]]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("K=v python -u bench/x.py --topk 2", "x --topk 2"),
        ("uv run --package levanter --extra tpu python lib/bench_moe.py --topk 2", "bench_moe --topk 2"),
        ("timeout 30 env A=1 ./sweep.sh fast", "sweep.sh fast"),
        ("/bin/bash -lc 'set -e; mkdir -p x\nfor a in 1 2; do ./run \"$a\"; done'", "run $a"),
        ("uv run s/dev_tpu.py --tpu-name t execute -- 'echo hi && hostname'", "hostname"),
    ],
)
def test_titles(line: str, title: str) -> None:
    assert title_of(shlex.split(line)) == title


def test_a_long_title_is_cut_at_a_word_and_says_so() -> None:
    title = title_of(["/bin/bash", "-lc", LOOP])
    assert title == "bench_moe_hillclimb --tokens 32768 --topk $tk…"
    assert title_of(["x" * 100]) == "x" * 59 + "…"


@pytest.mark.parametrize(
    ("one", "other", "keys", "is_same"),
    [
        ("b --x 1 --y 2", "b --y=2 --x=1", "", True),
        ("b --x -1", "b --x -2", "x", True),
        ("b --no-fast", "b --fast", "fast", True),
        ("b --topk-list 1,2", "b --topk 4", "topk", True),
        ("b --null-route-sweep", "b --null-route-frac 0", "null_route_frac", True),
        ("b --x 1", "b", "", False),
        ("b --fast", "b", "", False),
        ("b K=1 in", "b K=2 in", "", False),
        ("b old.py", "b new.py", "", False),
        ("b --x 1 --x 2", "b --x 2 --x 1", "", False),
    ],
)
def test_in_what_commands_differ_beyond_config(one: str, other: str, keys: str, is_same: bool) -> None:
    of = [parts(tuple(command.split()), frozenset(keys.split()), frozenset()) for command in (one, other)]
    assert (of[0] == of[1]) is is_same
