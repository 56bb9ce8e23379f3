"""What is said of a stop criterion that cannot be read, and of its parts that are missing."""

from __future__ import annotations

import shlex

import pytest

from tests.conftest import Cli


@pytest.mark.parametrize(
    ("predicate", "kind"),
    [
        ("target: tflops >= 100", "target"),
        ("target: {", "target"),
        ("{budget: [runs]}", "budget"),
        ("compared: {axis: quant_mode}", "compared"),
        ("nope: {}", "compared"),
    ],
)
def test_a_predicate_that_cannot_be_read_is_shown_in_the_form_of_its_kind(
    started: Cli, predicate: str, kind: str
) -> None:
    refused = started("criteria", "--add", "x", "--predicate", predicate, "--json")
    assert refused.code == 2
    hint = refused.error["hint"]
    [form] = shlex.split(hint.removeprefix("write it in this form: "))
    assert form.startswith(f"{{{kind}: ")
    assert started("criteria", "--add", "x", "--predicate", form).code in (0, 1)


def test_one_code_alone_is_no_comparison(started: Cli) -> None:
    refused = started("ab", "--code", "main", "--", "sh", "bench.sh")
    assert (refused.code, "--code main names one code" in refused.err) == (2, True)
    assert "--code main WORK -- COMMAND" in refused.err
