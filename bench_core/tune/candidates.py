"""Tiles to try for one case, and those that are ruled out without a measurement. No JAX."""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from bench_core.accounting.traffic import ITEM_BYTES
from bench_core.blocks.impls import IMPLS
from bench_core.errors import UsageError
from bench_core.flag import Made, option
from bench_core.gmm.registry import BACKENDS
from bench_core.gmm.tile import RowSizes, Tile, ladder
from bench_core.gmm.work import BlockWork, Products, ladder_work, tile_work
from bench_core.harness.case import CASE_FLAGS, Case
from bench_core.shapes import BenchPass
from bench_core.studies.ratios import Ratio, ratio

CLEARLY_MORE: Mapping[str, float] = MappingProxyType({"padding": 1.25, "traffic": 2.0})
"""A tile is ruled out by another one that moves no more and computes so many times less, or the reverse."""
FAR_MORE = 4.0
"""It is also ruled out when it computes, or moves, more than so many times the least of all."""

_TILE_AXES: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {"m": (128, 256, 512), "k": (128, 512, 1024), "n": (128, 512, 1024)}
)

_FETCHED = "with M,K,N one block serves all products"
FUSED_KERNEL: Mapping[str, str] = MappingProxyType(
    {
        "bt": "tokens that are routed and sent at a time: no counterpart, dispatch is no part of these kernels",
        "btc": "rows of one expert in a product: M",
        "bf": f"columns of w1 and w3, contracted width of w2: N and K; {_FETCHED}",
        "bd1": f"contracted width of w1 and w3: K; {_FETCHED}",
        "bd2": f"columns of w2: N; {_FETCHED}",
        "bfc": "part of bf that is computed at a time: no counterpart, a block is fetched and computed as a whole",
        "bd1c": "part of bd1 that is computed at a time: no counterpart, for the same reason",
        "bd2c": "part of bd2 that is computed at a time: no counterpart, for the same reason",
    }
)
"""Parameters of the fused kernel in the published logbooks, and what they are here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A tile for `gmm`, or row tiles for `tiled`; neither: what the backend takes by itself."""

    tile: Tile | None = None
    row_tiles: RowSizes | None = None

    @property
    def is_default(self) -> bool:
        return self.tile is None and self.row_tiles is None

    def on(self, case: Case) -> Case:
        return replace(case, tile=self.tile, row_tiles=self.row_tiles)

    def __str__(self) -> str:
        return "default" if self.is_default else str(self.tile or self.row_tiles)


DEFAULT = Candidate()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruled:
    """A candidate with its work; `out` says why it is not measured, None where it is."""

    candidate: Candidate
    work: BlockWork
    out: str | None = None


def refuse_fused_names(words: Iterable[str]) -> None:
    """Explain the parameters of the fused kernel where `--grid` names one.

    Raises:
        UsageError: it does.
    """
    for word in words:
        name, equals, _ = word.partition("=")
        if equals and name in FUSED_KERNEL:
            table = "; ".join(f"{one}: {text}" for one, text in FUSED_KERNEL.items())
            raise UsageError(
                f"--grid {word}: {name} is a parameter of a fused kernel that is not part of this benchmark",
                cause=table,
                hint="name a tile of gmm, such as --grid 256,512,512, or an axis of it, such as --grid m=128,256",
            )


def candidates(case: Case, words: Sequence[str], *, rows: int, groups: int) -> list[Candidate]:
    """The default, and what `--grid` asks for, or this version's own grid.

    Args:
        case: with its backend.
        words: those of `--grid`: a tile each, or, for `gmm`, an axis with its values.
        rows: of all experts of one device.
        groups: experts of one device.

    Raises:
        UsageError: a word is no tile of this backend.
    """
    if BACKENDS[case.backend].takes_row_tiles:
        named = [_of_grid(RowSizes.parse, _no_axis(word)) for word in words] or _row_grid(rows, groups)
        found = [Candidate(row_tiles=sizes) for sizes in named]
    else:
        own = BACKENDS[case.backend].default_tile
        found = [Candidate(tile=tile) for tile in _tiles(words) if tile != own]
    return list(dict.fromkeys([DEFAULT, *found]))


def _of_grid(parse: Callable[[str], Made], word: str) -> Made:
    """What `word` names. A refusal speaks of the flag that was given, and not of the one that takes a single tile."""
    try:
        return parse(word)
    except UsageError as error:
        said = (
            text.replace("--row-tiles", "--grid").replace("--tile", "--grid") for text in (error.message, error.hint)
        )
        message, hint = said
        raise UsageError(message, cause=error.cause, hint=hint) from error


def _no_axis(word: str) -> str:
    if "=" in word:
        raise UsageError(
            f"--grid {word} is an axis, and row tiles have none",
            cause="backend tiled takes sizes of rows, the largest first",
            hint="use --grid 512,128,32, once for each candidate",
        )
    return word


def _tiles(words: Sequence[str]) -> list[Tile]:
    single = [_of_grid(Tile.parse, word) for word in words if "=" not in word]
    given = dict(word.split("=", 1) for word in words if "=" in word)
    if single and not given:
        return single
    axes = dict(_TILE_AXES)
    for name, text in given.items():
        sizes = text.split(",")
        if name not in axes or not all(size.isascii() and size.isdigit() for size in sizes):
            raise UsageError(
                f"--grid {name}={text} is not an axis of a tile",
                cause=f"axes are {', '.join(axes)}, each with whole numbers",
                hint="use --grid m=128,256",
            )
        axes[name] = tuple(map(int, sizes))
    return [*single, *(Tile(m=m, k=k, n=n) for m, k, n in itertools.product(*axes.values()))]


def _row_grid(rows: int, groups: int) -> list[RowSizes]:
    """Around the rows that a group has on average."""
    fit = min(4096, 16 * math.ceil(max(1, rows / groups) / 16))
    wanted = [(512, 128, 32), (1024, 256, 64), (512, 32), (256, 64), (256, 64, 16), (128, 32), (64, 16), (fit, 32)]
    wanted += [(2 * fit, fit, 32), (fit, fit // 4, 16), (512, fit, 16)]
    sizes = (tuple(sorted({one for one in some if 0 < one <= 4096}, reverse=True)) for some in wanted)
    return [RowSizes(sizes=one) for one in dict.fromkeys(sizes)]


def rule_out(case: Case, found: Sequence[Candidate], groups: Sequence[int], *, keep_all: bool = False) -> list[Ruled]:
    """Every candidate with its work, and those ruled out with the reason; never the default."""
    products = products_of(case)
    works = [_work(case, candidate, groups, products) for candidate in found]
    all_works = dict(zip(found, works, strict=True))
    ruled: list[Ruled] = []
    seen: dict[object, Candidate] = {}
    for candidate, work in zip(found, works, strict=True):
        same = seen.setdefault(_program(case, candidate, groups), candidate)
        out = None
        if same is not candidate:
            out = f"the same program as {same}"
        elif not (candidate.is_default or keep_all):
            out = _too_much(work, all_works)
        ruled.append(Ruled(candidate=candidate, work=work, out=out))
    return ruled


def _too_much(own: BlockWork, works: Mapping[Candidate, BlockWork]) -> str | None:
    least = min(works, key=lambda one: works[one].padding)
    if own.padding > FAR_MORE * works[least].padding:
        return f"computes {own.padding:.2f} times the model FLOPs, {least} {works[least].padding:.2f}"
    least = min(works, key=lambda one: works[one].moved_bytes)
    if own.moved_bytes > FAR_MORE * works[least].moved_bytes:
        return f"moves {_mib(own)} MiB, {least} {_mib(works[least])}"
    for other, work in works.items():
        pads = own.padding / work.padding
        moves = own.moved_bytes / max(1, work.moved_bytes)
        if (moves >= 1 and pads >= CLEARLY_MORE["padding"]) or (pads >= 1 and moves >= CLEARLY_MORE["traffic"]):
            return (
                f"{other} does less: computes {work.padding:.2f} times the model FLOPs, not {own.padding:.2f}, "
                f"and moves {_mib(work)} MiB, not {_mib(own)}"
            )
    return None


def _mib(work: BlockWork) -> str:
    return f"{work.moved_bytes / 2**20:.1f}"


def products_of(case: Case) -> Products:
    """The routed experts' products: with w1 and w3 side by side where the implementation has them so."""
    shape = case.shape
    fused = IMPLS[case.impl].fused_w13
    ups = ((shape.hidden, 2 * shape.mlp_dim),) if fused else ((shape.hidden, shape.mlp_dim),) * 2
    return Products(
        widths=(*ups, (shape.mlp_dim, shape.hidden)),
        backward=case.bench_pass is BenchPass.FORWARD_BACKWARD,
        item_bytes=ITEM_BYTES[case.dtype],
    )


def _work(case: Case, candidate: Candidate, groups: Sequence[int], products: Products) -> BlockWork:
    tile = candidate.tile or BACKENDS[case.backend].default_tile
    if tile is not None:
        return tile_work(groups, products, tile)
    rungs = ladder(max(1, sum(groups)), len(groups), close=True, row_tiles=candidate.row_tiles)
    return ladder_work(groups, products, rungs)


def _program(case: Case, candidate: Candidate, groups: Sequence[int]) -> object:
    """What is alike for candidates that compile to one program."""
    if not BACKENDS[case.backend].takes_row_tiles:
        return candidate
    rows = max(1, sum(groups))
    # The loops of single products and those of the whole expert have ladders of their own.
    return tuple(ladder(rows, len(groups), close=close, row_tiles=candidate.row_tiles) for close in (True, False))


def times_as_fast(default: Sequence[float], other: Sequence[float]) -> Ratio:
    """How many times as fast the other one is: the median over the rounds of the ratio of their two calls in a round,
    which a drift of the machine meets alike, with its interval (see `studies.ratios`)."""
    rounds = [own / its for own, its in zip(default, other, strict=True)]
    return ratio(rounds, [1.0] * len(rounds))


def in_words(found: Ratio) -> str:
    """The ratio with its interval, where it has one."""
    if found.low is None or found.high is None:
        return f"{found.value:.3f} times as fast"
    return f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f}) times as fast"


def words_of(case: Case) -> list[str]:
    """The flags with which `hillclimb` or `tune` makes this case; without tile and calls, and without defaults."""
    words: list[str] = ["--backend", case.backend]
    left_out = ("backend", "tile", "row_tiles", "iters", "warmup")
    config = case.config()
    for declared in CASE_FLAGS:
        value = config.get(declared.name)
        if value is None or declared.name in left_out or declared.of(case) == declared.default:
            continue
        flag = option(declared.name)
        if value is True:
            words.append(flag)
        elif declared.flag.repeated:
            words += itertools.chain(*((flag, one) for one in str(value).split()))
        else:
            words += [flag, str(value)]
    return words
