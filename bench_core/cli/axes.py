"""Options that stand for several cases: lists and sweeps. No JAX."""

from collections.abc import Callable, Container
from typing import TypeVar

from bench_core.errors import UsageError
from bench_core.flag import option
from bench_core.routing.distribution import RUN_FLAGS, Distribution
from bench_core.shapes import DEFAULT_TOPK

NULL_SWEEP = tuple(tenths / 10 for tenths in range(1, 10))

Value = TypeVar("Value", int, float)


def topk_values(topk: int | None, topk_list: str | None) -> list[int]:
    """The values of top-k that the two options ask for.

    Raises:
        UsageError: both are given, or the list is not one of distinct whole numbers.
    """
    if topk_list is None:
        return [DEFAULT_TOPK if topk is None else topk]
    if topk is not None:
        raise same_axis("--topk", "--topk-list", hint=f"use --topk-list {topk},... alone")
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
        raise same_axis(flags[0], flags[1], hint=f"use {flags[1]} alone")
    if listed is not None:
        return _listed("--null-route-frac-list", listed, float, kind="numbers", example="0,0.1,0.5")
    return list(NULL_SWEEP) if sweep else [0.0 if single is None else single]


def refuse_run_numbers(given: Container[str], distributions: list[Distribution]) -> None:
    """Refuse the numbers of `--distribution runs` where no case has such runs.

    Raises:
        UsageError: one was given.
    """
    idle = [name for name in RUN_FLAGS if name in given]
    if idle and Distribution.RUNS not in distributions:
        raise UsageError(
            f"{option(idle[0])} changes nothing in --distribution random",
            cause="random logits have no runs",
            hint="add --distribution runs, or leave it out",
        )


def same_axis(one: str, other: str, *, hint: str) -> UsageError:
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
