"""What the rows of a study amount to, in a few lines. No JAX."""

import statistics
from collections.abc import Mapping, Sequence

from bench_core.harness.record import VIRTUAL, Row
from bench_core.studies.ratios import ENOUGH, Ratio, crossing, ratio
from bench_core.studies.study import Path, path_name

METRIC = "tokens_per_s"
_GIB = 2**30

Shape = tuple[int, int]
"""Top-k and batch."""
_Named = Mapping[str, Row]


def summarise(rows: Sequence[Row]) -> list[str]:
    """Lines for a person: of each shape what every path does and how they compare, then by which batch the order
    changes. Of rows that were only compiled the memory of a device takes the place of all that."""
    shapes: dict[Shape, dict[str, Row]] = {}
    for row in rows:
        config = row.config
        name = path_name(str(config["path"]), config.get("ep_size"))
        shapes.setdefault((int(config["topk"]), int(config["batch"])), {})[name] = row
    if not any(METRIC in row.metrics for row in rows):
        return [f"topk {topk} batch {batch}: {_compiled(named)}" for (topk, batch), named in shapes.items()]
    lines = ["tokens/s per device (of all devices), medians:"]
    ratios: dict[tuple[int, str], list[tuple[int, Ratio]]] = {}
    for (topk, batch), named in shapes.items():
        lines.append(f"topk {topk} batch {batch}: {', '.join(_cell(name, row) for name, row in named.items())}")
        found = _ratios(named)
        if found:
            lines.append("  " + ", ".join(f"{name} {one}" for name, one in found.items()))
        for name, one in found.items():
            ratios.setdefault((topk, name), []).append((batch, one))
    if any(one.low is None for points in ratios.values() for _, one in points):
        lines.append(f"no intervals: they take {ENOUGH} timed calls of each path (--iters {ENOUGH})")
    if any(group.used for row in rows for group in row.environment.devices if group.platform == "cpu"):
        lines.append(VIRTUAL)
    by_batch = [(key, points) for key, points in ratios.items() if len(points) > 1]
    return lines + [f"topk {topk}, {name}: {_crossed(name, points)}" for (topk, name), points in by_batch]


def _ratios(named: _Named) -> dict[str, Ratio]:
    pairs = [(Path.DP.value, Path.BASELINE_DP.value)]
    pairs += [(name, Path.DP.value) for name in named if name.startswith(f"{Path.DP_EP.value} ")]
    samples = {name: row.metrics[METRIC].samples for name, row in named.items() if METRIC in row.metrics}
    return {
        f"{one} / {other}": ratio(samples[one], samples[other])
        for one, other in pairs
        if one in samples and other in samples
    }


def _crossed(name: str, points: Sequence[tuple[int, Ratio]]) -> str:
    numerator, _, denominator = name.partition(" / ")
    return crossing(points).text("batch", numerator, denominator)


def _cell(name: str, row: Row) -> str:
    if METRIC not in row.metrics:
        return f"{name} {_failed(row)}"
    total = statistics.median(row.metrics[METRIC].samples)
    used = sum(group.used for group in row.environment.devices)
    return f"{name} {total / used:,.0f} ({total:,.0f})"


def _compiled(named: _Named) -> str:
    return ", ".join(
        f"{name} {row.metrics['hbm_bytes'].samples[0] / _GIB:.3g} GiB per device"
        if "hbm_bytes" in row.metrics
        else f"{name} {_failed(row)}"
        for name, row in named.items()
    )


def _failed(row: Row) -> str:
    if row.failed is None:
        return "unknown"
    for label, words in (("helps", "compiles with"), ("try", "try")):
        if label in row.labels:
            return f"failed ({row.failed.reason}; {words} {row.labels[label]})"
    return f"failed ({row.failed.reason})"
