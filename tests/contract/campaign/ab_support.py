"""The benchmark whose `quant_mode` the tests of A/Bs compare, and what they read of its answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.conftest import Answer
from tests.seams import Store

# int8 is 6% faster; the noise is the number of the run, and as large as the third word says.
BENCH = """\
speed=100; [ "$2" = int8 ] && speed=106; [ "$2" = int4 ] && speed=97; [ "$2" = same ] && speed=100
echo "METRIC tflops=$speed.$((LOGBOOK_RUN * ${3:-7} % 10)) TF/s"
"""


AB = ("ab", "--axis", "quant_mode=none,int8")


# Draws AB BA BA AB BA AB BA BA AB AB.
SEED = ("--seed", "3")


COMMAND = ("--", "sh", "bench.sh", "--quant-mode", "{axis}")


def values(folder: Path, entry_id: str = "MOE-000") -> list[object]:
    """What the runs of an entry were made with, in order."""
    return [run.config["quant_mode"] for run in Store(folder).runs(entry_id)]


def finding(answer: Answer) -> Any:
    """The only finding of an answer."""
    [found] = answer.data["answer"]["findings"]
    return found
