"""What `bench-core predict` is asked."""

from __future__ import annotations

from collections.abc import Sequence

from logbook_agent.model.errors import UsageError
from logbook_agent.running.prepare import PROGRAM, check_installed

_AOT, _SIDES = "--aot", "--"


def predict_argv(words: Sequence[str]) -> list[str]:
    """The command that predicts what `bench-core hillclimb` with these words would take, without a device. Of two sides
    the first is in front of a `--`.

    Raises UsageError where there are no words, where they name no slice, or the packages of the compiler are missing.
    """
    if not words:
        raise UsageError(
            "nothing to predict",
            cause="nothing follows --",
            hint="logbook predict -- --aot v5p-8 --tokens 32768 --topk 2, with the options of bench-core hillclimb",
        )
    first = words[: list(words).index(_SIDES)] if _SIDES in words else words
    if not any(word == _AOT or word.startswith(f"{_AOT}=") for word in first):
        raise UsageError(
            "no TPU named to predict for",
            cause=f"{_AOT} is missing among the options of bench-core predict",
            hint=f"add after --: {_AOT} v5p-8",
        )
    check_installed("jax", "tpu")
    check_installed("libtpu", "tpu")
    return [PROGRAM, "predict", *words]
