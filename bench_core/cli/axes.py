"""Options that stand for several cases: lists, sweeps, and the word `both`. No JAX."""

from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

from bench_core.blocks.impls import IMPLS
from bench_core.errors import UsageError
from bench_core.harness.case import choose
from bench_core.routing.distribution import Distribution

DEFAULT_TOPK = 2
BOTH = "both"
NULL_SWEEP = tuple(tenths / 10 for tenths in range(1, 10))

Value = TypeVar("Value", int, float)
Word = TypeVar("Word", bound=StrEnum)


def topk_values(topk: int | None, topk_list: str | None) -> list[int]:
    """The values of top-k that the two options ask for.

    Raises:
        UsageError: both are given, or the list is not one of distinct whole numbers.
    """
    if topk_list is None:
        return [DEFAULT_TOPK if topk is None else topk]
    if topk is not None:
        raise _same_axis("--topk", "--topk-list", hint=f"use --topk-list {topk},... alone")
    return _listed("--topk-list", topk_list, _whole_number, kind="whole numbers", example="1,2,4")


def null_fractions(single: float | None, listed: str | None, *, sweep: bool) -> list[float]:
    """The null fractions that the three options ask for; 0 without any.

    Raises:
        UsageError: more than one is given, or the list is not one of distinct numbers.
    """
    given = {
        "--null-route-frac": single is not None,
        "--null-route-frac-list": listed is not None,
        "--null-route-sweep": sweep,
    }
    flags = [flag for flag, used in given.items() if used]
    if len(flags) > 1:
        raise _same_axis(flags[0], flags[1], hint=f"use {flags[1]} alone")
    if listed is not None:
        return _listed("--null-route-frac-list", listed, float, kind="numbers", example="0,0.1,0.5")
    return list(NULL_SWEEP) if sweep else [0.0 if single is None else single]


def impls(word: str) -> list[str]:
    """`both` is every implementation: the word is from a time when there were two."""
    return list(IMPLS) if choose("--impl", word, [*IMPLS, BOTH]) == BOTH else [word]


def words_or_both(flag: str, word: str, words: type[Word]) -> list[Word]:
    """One member of `words`, or all of them for `both`."""
    names = [member.value for member in words]
    return list(words) if choose(flag, word, [*names, BOTH]) == BOTH else [words(word)]


def run_numbers(
    distributions: list[Distribution], *, alpha: float | None, noise_scale: float | None
) -> dict[str, float]:
    """The numbers of `--distribution runs` that were given.

    Raises:
        UsageError: one was given and no case has such runs.
    """
    given = {"run_alpha": alpha, "run_noise_scale": noise_scale}
    numbers = {name: number for name, number in given.items() if number is not None}
    if numbers and Distribution.RUNS not in distributions:
        flag = f"--{next(iter(numbers)).replace('_', '-')}"
        raise UsageError(
            f"{flag} changes nothing in --distribution random",
            cause="random logits have no runs",
            hint="add --distribution runs, or leave it out",
        )
    return numbers


def _same_axis(one: str, other: str, *, hint: str) -> UsageError:
    return UsageError(f"{one} and {other} cannot be given together", cause="they name the same axis", hint=hint)


def _whole_number(word: str) -> int:
    # int() would take signs and underscores too.
    if not (word.isascii() and word.isdigit()):
        raise ValueError(word)
    return int(word)


def _listed(flag: str, text: str, number: Callable[[str], Value], *, kind: str, example: str) -> list[Value]:
    try:
        values = [number(word.strip()) for word in text.split(",")]
    except ValueError:
        raise UsageError(
            f"{flag} {text} is not a list of {kind}",
            cause=f"values are separated by commas, such as {example}",
            hint=f"use {flag} {example}",
        ) from None
    if len(set(values)) < len(values):
        raise UsageError(
            f"{flag} {text} names a value twice",
            cause="each value is one case; to repeat a case, start another run",
            hint=f"use {flag} {','.join(str(value) for value in dict.fromkeys(values))}",
        )
    return values
