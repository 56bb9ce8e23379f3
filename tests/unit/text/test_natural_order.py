"""The order of values along an axis."""

from __future__ import annotations

import random

import pytest

from logbook_agent.text.commands.flags import in_order


@pytest.mark.parametrize(
    "ordered",
    [
        ["8", "16", "1e3", "20000"],
        ["-1", "-0.5", "0", "0.25"],
        ["512", "64k", "128k", "1M", "1.5M"],
        ["1000", "1Ki", "1Mi"],
        ["v5e-8", "v5e-16", "v5p-8"],
        ["topk=2 tokens=64k", "topk=2 tokens=128k", "topk=10 tokens=1k"],
        ["MOE-2", "MOE-10", "MOE-100"],
        ["bf16", "fp8", "fp16", "int8", "None"],
    ],
)
def test_numbers_by_size_and_words_by_letters(ordered: list[str]) -> None:
    for seed in range(5):
        assert in_order(random.Random(seed).sample(ordered, len(ordered))) == ordered


def test_a_letter_that_begins_a_word_is_no_size() -> None:
    assert in_order(["2000", "4kernels"]) == ["4kernels", "2000"]


def test_what_is_declared_comes_first_in_its_order() -> None:
    assert in_order(["int8", "none", "fp8", "none"], declared=["none", "fp8", "bf16"]) == ["none", "fp8", "int8"]
