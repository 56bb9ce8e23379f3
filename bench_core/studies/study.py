"""The cases of `bench-core compare`: data parallelism as XLA makes it, as this project makes it, and with expert
parallelism, over batches, values of top-k and sizes of the expert axis. No JAX."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from bench_core.errors import UsageError
from bench_core.flag import ConfigValue
from bench_core.harness.case import Case
from bench_core.harness.record import Row
from bench_core.parallel.sizes import fitting_sizes
from bench_core.parallel.spread import DpImpl, EpImpl, Parallel, ParallelMode
from bench_core.shapes import MOST_INDEXED

BASELINE_IMPL = "baseline"


class Path(StrEnum):
    """Ways to spread a block over the same devices.

    baseline_dp   the program of one device, cut by XLA's partitioner
    dp            every device has all experts and its own tokens
    dp_ep         data x expert: devices of a data shard have their own experts
    """

    BASELINE_DP = "baseline_dp"
    DP = "dp"
    DP_EP = "dp_ep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What is asked for. `base` is every case but for its tokens, top-k, implementation and mesh.

    Raises:
        UsageError: a batch or a sequence is not positive, or they are more tokens than can be.
    """

    base: Case
    paths: tuple[Path, ...]
    batches: tuple[int, ...]
    seq: int
    topks: tuple[int, ...]
    ep_sizes: tuple[int, ...]
    ep_impl: EpImpl | None = None

    def __post_init__(self) -> None:
        sizes = [("--seq", self.seq), *(("--batch", batch) for batch in self.batches)]
        for flag, size in sizes:
            if size < 1:
                raise UsageError(
                    f"{flag} {size} is too small",
                    cause="tokens = batch x seq, and there is at least one",
                    hint=f"give {flag} a value of 1 or more",
                )
        most = MOST_INDEXED // (self.seq * max(1, *self.topks))
        for batch in self.batches:
            if batch > most:
                raise UsageError(
                    f"--batch {batch} x --seq {self.seq} are too many tokens",
                    cause=f"programs index rows with int32, so tokens x topk are at most {MOST_INDEXED}",
                    hint=f"use --batch {most} or less" if most else "use a smaller --seq",
                )

    def entries(self, devices: int) -> list["Entry"]:
        """The cases on so many devices, all of which every path uses: those of one shape stand side by side.

        Raises:
            UsageError: there is one device, or a size of the expert axis does not fit.
        """
        self._refuse(devices)
        meshes = [(path, parallel) for path in self.paths for parallel in self._meshes(path, devices)]
        return [
            self._entry(path, parallel, batch=batch, topk=topk)
            for topk in self.topks
            for batch in self.batches
            for path, parallel in meshes
        ]

    def _refuse(self, devices: int) -> None:
        if devices < 2:
            raise UsageError(
                "compare needs several devices, and there is one",
                cause="data and expert parallelism spread a block over devices",
                hint="use --devices 4; on a CPU they are virtual",
            )
        experts = self.base.shape.experts
        fitting = sorted(fitting_sizes(experts, devices, least=2))
        for size in self.ep_sizes if Path.DP_EP in self.paths else ():
            if size not in fitting:
                said = ", ".join(map(str, fitting))
                hint = f"use --ep-axis-sizes {said.replace(' ', '')}" if fitting else "use --path baseline_dp,dp"
                raise UsageError(
                    f"--ep-size {size} does not fit {devices} devices and {experts} experts",
                    cause=f"an expert axis has two devices or more and divides both (sizes that fit: {said or 'none'})",
                    hint=hint,
                )

    def _meshes(self, path: Path, devices: int) -> list[Parallel]:
        match path:
            case Path.BASELINE_DP:
                return [Parallel(mode=ParallelMode.DP, dp_impl=DpImpl.AUTO, devices=devices)]
            case Path.DP:
                return [Parallel(mode=ParallelMode.DP, devices=devices)]
            case Path.DP_EP:
                return [
                    Parallel(
                        mode=ParallelMode.EP,
                        ep_impl=self.ep_impl,
                        ep_size=size,
                        dp_size=devices // size,
                        devices=devices,
                    )
                    for size in self.ep_sizes
                ]

    def _entry(self, path: Path, parallel: Parallel, *, batch: int, topk: int) -> "Entry":
        shape = replace(self.base.shape, tokens=batch * self.seq, topk=topk)
        impl = BASELINE_IMPL if path is Path.BASELINE_DP else self.base.impl
        case = replace(self.base, shape=shape, impl=impl, parallel=parallel)
        return Entry(path=path, batch=batch, seq=self.seq, case=case)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One case of a study."""

    path: Path
    batch: int
    seq: int
    case: Case

    @property
    def name(self) -> str:
        return path_name(self.path, self.case.parallel.ep_size)

    @property
    def config(self) -> dict[str, ConfigValue]:
        """What a study knows of it beside the config of its case."""
        return {"path": self.path.value, "batch": self.batch, "seq": self.seq}

    def row(self, row: Row) -> Row:
        """The row of its case, with the path first. What a person reads begins with a device's share."""
        own = row.observations.get("tokens_per_s_per_device")
        summary = dict(row.summary)
        if own is not None:
            first = {"tokens_per_s_per_device": own, "tokens_per_s": summary["tokens_per_s"]}
            summary = first | {name: value for name, value in summary.items() if name not in first}
        return replace(row, config=self.config | dict(row.config), summary=summary)


def path_name(path: str, ep_size: ConfigValue | None) -> str:
    """A path as it is told apart from another one: with the size of its expert axis."""
    return f"{path} {ep_size}" if path == Path.DP_EP else str(path)


def read_paths(words: Sequence[str]) -> tuple[Path, ...]:
    """The paths of these words, in the order in which they are compared.

    Raises:
        UsageError: a word is none.
    """
    for word in words:
        if word not in list(Path):
            raise UsageError(
                f"--path {','.join(words)} is not known",
                cause=f"the paths are {', '.join(Path)}, separated by commas",
                hint=f"use --path {','.join(Path)}, or leave it out",
            )
    if len({*words}) < len(words):
        raise UsageError(
            f"--path {','.join(words)} names a path twice",
            cause="a path is measured once",
            hint=f"use --path {','.join(dict.fromkeys(words))}",
        )
    return tuple(path for path in Path if path in words)
