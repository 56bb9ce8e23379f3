"""Tables of the samples that `moe_cpu.py` saved. No JAX, no torch."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from typing import Any

OURS = "tiled fused_w13"
PEERS = ("tiled baseline", "ragged_dot", "torch loop", "torch grouped_mm", "dense", "tiled again")
RAGGED = "ragged_dot"
TORCH = ("torch loop", "torch grouped_mm")
Result = dict[str, Any]


def ratios(result: Result, clock: str, peer: str) -> list[float]:
    """How many times as long as OURS the peer took, round by round."""
    seconds = result["seconds"][clock]
    # A peer may have fewer rounds than OURS, and then has the first ones.
    return [other / own for other, own in zip(seconds.get(peer, ()), seconds[OURS], strict=False)]


def _spread(values: list[float], *, ends: bool) -> str:
    if not values:
        return ""
    middle = f"{statistics.median(values):.2f}"
    return f"{middle} ({min(values):.2f} to {max(values):.2f})" if ends and len(values) > 1 else middle


def _row(words: Iterable[object]) -> str:
    return "| " + " | ".join(map(str, words)) + " |"


def _cell(result: Result) -> list[object]:
    cell = result["cell"]
    return [cell["dtype"], cell["experts"], cell["topk"], cell["sizes"], cell["bench_pass"]]


HEAD = ["dtype", "experts", "topk", "routing", "pass"]
RULE = ["---", "---:", "---:", "---", "---"]


def line(result: Result, clock: str = "wall") -> str:
    """One cell: milliseconds of OURS, the peers' ratios, rounds, load."""
    own = result["seconds"][clock][OURS]
    ends = clock == "wall"
    peers = [_spread(ratios(result, clock, peer), ends=ends) for peer in PEERS]
    tail = [len(own), f"{result['load']:.1f}"] if ends else []
    return _row([*_cell(result), f"{1000 * statistics.median(own):.0f}", *peers, *tail])


def result_line(result: Result) -> str:
    """One cell for a logbook, in processor time: a call, the median share of the dense limit, and how many times as
    long the faster torch form took."""
    facts = " ".join(f"{name}={value}" for name, value in result["cell"].items())
    own = statistics.median(result["seconds"]["processor"][OURS])
    medians = {name: statistics.median(ratios(result, "processor", name) or [math.inf]) for name in (*TORCH, "dense")}
    torch = min(medians[name] for name in TORCH)
    faster = "" if math.isinf(torch) else f" torch_ratio={torch}"
    return f"RESULT {facts} dense_share={medians['dense']}{faster} processor_s={own}"


def head(clock: str = "wall") -> str:
    tail = ["rounds", "load"] if clock == "wall" else []
    names = [*HEAD, "ms", *PEERS, *tail]
    return _row(names) + "\n" + _row([*RULE, *["---:"] * (len(names) - len(RULE))])


def _programs(results: list[Result]) -> Iterable[str]:
    """Compile seconds and memory: the same for both routings, so the first cell of each program stands for it."""
    yield _row(
        [
            *[name for name in HEAD if name != "routing"],
            "compile s",
            "baseline",
            "ragged_dot",
            "peak MB",
            "over the least",
        ]
    )
    yield _row([*RULE[:3], "---", *["---:"] * 5])
    seen = set()
    for result in results:
        cell = [word for word, name in zip(_cell(result), HEAD, strict=True) if name != "routing"]
        if tuple(cell) in seen:
            continue
        seen.add(tuple(cell))
        compiled = result["compiled"]
        seconds = [
            f"{compiled[n]['compile_s']:.2f}" if n in compiled else "" for n in (OURS, "tiled baseline", "ragged_dot")
        ]
        total = compiled[OURS]["bytes"]["total"]
        yield _row([*cell, *seconds, f"{total / 1e6:.0f}", f"{total / result['least_bytes']:.2f}"])


def _held(name: str, values: list[float], target: float) -> str:
    """Whether a target is met, by the cells' median ratios."""
    if not values:
        return f"- {name}: not measured"
    met = f"{sum(value >= target for value in values)} of {len(values)} cells"
    return f"- {name}: {met} at {target:g} or more; lowest {min(values):.2f}, median {statistics.median(values):.2f}"


TARGETS = {
    "ragged_dot": ((RAGGED,), {8: 7, 16: 12}),
    "the faster torch form": (TORCH, {8: 1, 16: 1, 64: 0.9}),
    "dense": (("dense",), {8: 0.75, 16: 0.75, 64: 0.7}),
}
"""Peers, and by number of experts the least ratio that is asked for."""


def targets(results: list[Result], clock: str) -> Iterable[str]:
    """Of each dtype, how many cells meet them; of several peers the fastest counts."""
    for dtype in dict.fromkeys(result["cell"]["dtype"] for result in results):
        for name, (peers, wanted) in TARGETS.items():
            for experts, least in wanted.items():
                found = []
                for result in results:
                    if (result["cell"]["dtype"], result["cell"]["experts"]) == (dtype, experts):
                        each = [statistics.median(ratios(result, clock, peer) or [math.inf]) for peer in peers]
                        found += [value for value in (min(each),) if not math.isinf(value)]
                yield _held(f"{dtype}, {name} at {experts} experts", found, least)


def tables(document: dict[str, Any]) -> str:
    """All tables of a saved document."""
    results, facts = document["results"], document["facts"]
    lines = [", ".join(f"{name} {value}" for name, value in facts.items()) + ".", ""]
    lines += [f"{peer} was not measured: {why}." for peer, why in document["missing"].items()]
    lines += ["", head(), *(line(result) for result in results)]
    lines += ["", "The same in processor time, medians.", "", head("processor")]
    lines += [line(result, "processor") for result in results]
    lines += ["", *_programs(results)]
    for clock in ("wall", "processor"):
        lines += ["", f"By the median ratios of {clock} time:", "", *targets(results, clock)]
    return "\n".join(lines)
