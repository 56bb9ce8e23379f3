"""A stand-in for a benchmark, run as a program: rows whose numbers are those of EP and int8 on eight v5p devices, in
their size, and differ from run to run by what the number of the run says."""

from __future__ import annotations

import os
import sys

# TF/s by topk of data parallelism and of expert parallelism, which wins from topk=4 on.
TFLOPS = {
    "none": {1: 219.2, 2: 192.4, 4: 175.3, 8: 167.9},
    "ep": {1: 81.9, 2: 145.0, 4: 233.7, 8: 339.3},
}


def scattered(value: float, run: int, percent: float = 0.4) -> float:
    """Within so many percent, in an order that is no order; as it is printed."""
    return round(value * (1 + percent / 100 * ((run * 7 + int(value)) % 11 - 5) / 5), 3)


def modes(mode: str, run: int) -> list[tuple[dict[str, object], float]]:
    return [({"parallel_mode": mode, "topk": k}, scattered(value, run)) for k, value in TFLOPS[mode].items()]


def int8(mode: str, run: int) -> list[tuple[dict[str, object], float]]:
    """A machine that becomes slower, and int8 six percent faster."""
    value = 167.9 * (1 - 0.002 * run) * (1.06 if mode == "int8" else 1.0)
    return [({"quant_mode": mode, "topk": 8}, scattered(value, run, 0.3))]


def one(_: str, run: int) -> list[tuple[dict[str, object], float]]:
    """A level that falls by a tenth after the fifth run."""
    return [({"topk": 2}, scattered(192.4 if run <= 5 else 173.2, run))]


def main(words: list[str]) -> int:
    rows = {"modes": modes, "int8": int8, "one": one}[words[0]](words[-1], int(os.environ["LOGBOOK_RUN"]))
    for config, tflops in rows:
        print("RESULT", *(f"{name}={value}" for name, value in config.items()), f"tflops={tflops:.3f}")
    return 3 if "--fail" in words else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
