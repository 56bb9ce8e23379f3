"""The paths of `bench-core overlap`: one block over the same devices, made in different ways. No JAX."""

from dataclasses import replace
from enum import StrEnum

from bench_core.blocks.modes import Programs, Router
from bench_core.harness.case import Case
from bench_core.harness.compiler_flags import CompilerFlags
from bench_core.harness.record import VIRTUAL, Row
from bench_core.parallel.spread import Parallel, ParallelMode
from bench_core.studies.ratios import ENOUGH, LEVEL, Ratio, crossing, ratio


class PathName(StrEnum):
    """All paths begin with the router's logits.

    ref_dp        every device has all experts and its own tokens, in one program
    staged_dp     the same in four programs: pack, up, down and combine
    fused_ep      every device has its own experts, in one program
    chunked_ep    the same, and tokens are sent in chunks
    """

    REF_DP = "ref_dp"
    STAGED_DP = "staged_dp"
    FUSED_EP = "fused_ep"
    CHUNKED_EP = "chunked_ep"


ASYNC_FLAGS = CompilerFlags.parse(["xla_tpu_enable_async_all_to_all=true"])
"""Without it the compiler for TPU sends each chunk while nothing else runs. With it, libtpu 0.0.42 for v5p puts matmuls
of one chunk between start and end of sending another; flags of its asynchronous fusions change nothing more there."""


def path_case(path: PathName, fused: Case, *, programs: Programs, platform: str) -> Case:
    """The case of a path. `fused` has the sizes of its mesh, and chunks where they were asked for."""
    spread = fused.parallel.spread
    match path:
        case PathName.REF_DP | PathName.STAGED_DP:
            parallel = Parallel(mode=ParallelMode.DP, dp_size=spread.devices, devices=spread.devices)
            staged = programs if path is PathName.STAGED_DP else Programs.ONE
            return replace(fused, router=Router.INSIDE, parallel=parallel, programs=staged)
        case PathName.FUSED_EP:
            return replace(fused, router=Router.INSIDE, parallel=replace(fused.parallel, chunks=None))
        case PathName.CHUNKED_EP:
            flags = fused.compiler_flags
            for key, value in ASYNC_FLAGS.pairs if platform == "tpu" else ():
                if flags.get(key) is None:
                    flags = flags.adding(key, value)
            return replace(fused, router=Router.INSIDE, compiler_flags=flags)


def named(path: PathName, row: Row) -> Row:
    """The row with its path, as the first key of its config."""
    return replace(row, config={"path": path.value, **row.config})


def against(base: PathName, rows: dict[PathName, Row]) -> dict[PathName, Ratio]:
    """How many times faster than `base` each other path is; nothing where `base` failed."""
    if base not in rows or rows[base].failed is not None:
        return {}
    own = rows[base].metrics["tflops"].samples
    return {
        path: ratio(row.metrics["tflops"].samples, own)
        for path, row in rows.items()
        if path is not base and row.failed is None
    }


def with_ratio(row: Row, base: PathName, found: Ratio) -> Row:
    """The row with its ratio to `base`, and the ends of its interval."""
    name = f"ratio_to_{base}"
    numbers = {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
    return replace(row, observations={**row.observations, **numbers})


def crossovers(base: PathName, ratios: dict[int, dict[PathName, Ratio]]) -> dict[PathName, str]:
    """Where along top-k the order of a path and `base` changes, in words, for paths that have two values of it."""
    points = {
        path: [(topk, found[path]) for topk, found in ratios.items() if path in found]
        for path in PathName
        if path is not base
    }
    return {path: _said(path, base, at) for path, at in points.items() if len(at) > 1}


def _said(path: PathName, base: PathName, points: list[tuple[int, Ratio]]) -> str:
    found = crossing(points)
    text = found.text("topk", path, base)
    if not (found.undecided and found.side):
        return text
    decided = ", ".join(str(topk) for topk, one in points if one.side)
    return f"{path if found.side > 0 else base} is faster at topk {decided}; {text}"


def summary(base: PathName, ratios: dict[int, dict[PathName, Ratio]], *, platform: str) -> list[str]:
    """Lines of a table of ratios by top-k, and what they show."""
    paths = [path for path in PathName if any(path in found for found in ratios.values())]
    if not paths:
        return []
    cells = [["topk", *paths]]
    cells += [
        [str(topk), *(str(found[path]) if path in found else "-" for path in paths)] for topk, found in ratios.items()
    ]
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    table = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in cells]
    said = [f"{path}: {text}" for path, text in crossovers(base, ratios).items()]
    bare = any(one.low is None for found in ratios.values() for one in found.values())
    few = [f"no {LEVEL:.0%} interval from so few calls: --iters {ENOUGH} gives one"] if bare else []
    caution = [VIRTUAL] if platform == "cpu" else []
    return [
        f"times as fast as {base} (ratio of medians, {LEVEL:.0%} interval of this process):",
        *table,
        *said,
        *few,
        *caution,
    ]
