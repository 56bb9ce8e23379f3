"""How a case is spread over devices. No JAX."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any

from bench_core.blocks.modes import ALONE as ALONE_SENDS
from bench_core.blocks.modes import Sends, added
from bench_core.errors import UsageError
from bench_core.flag import Flag, require_ranges
from bench_core.parallel.sizes import MOST_DEVICES, mesh, require_devices, sized, way_to_fit


class ParallelMode(StrEnum):
    """`none`: one device. `dp`: every device has all experts and its own tokens. `ep`: every device has its own
    experts."""

    NONE = "none"
    DP = "dp"
    EP = "ep"


class DpImpl(StrEnum):
    """Who cuts the program of `dp` into one for each device.

    shard_map    this project: each device computes its own tokens, and the gradients of weights are summed
    auto         XLA's partitioner, from the block of one device and where its inputs lie
    """

    SHARD_MAP = "shard_map"
    AUTO = "auto"


class EpImpl(StrEnum):
    """What devices with different experts send to each other.

    psum                 tokens are on every device; each computes its experts' share, and the shares are summed
    ring                 tokens are spread; all are gathered, and the sums of shares are scattered again
    all_to_all           tokens are spread; rows go to their experts' device and back, in buffers of one size
    ragged_all_to_all    the same with exact sizes
    """

    PSUM = "psum"
    RING = "ring"
    ALL_TO_ALL = "all_to_all"
    RAGGED_ALL_TO_ALL = "ragged_all_to_all"

    @property
    def spreads_tokens(self) -> bool:
        return self is not EpImpl.PSUM

    @property
    def sends_rows(self) -> bool:
        """Whether a row goes to the device of its expert alone."""
        return self in (EpImpl.ALL_TO_ALL, EpImpl.RAGGED_ALL_TO_ALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A mesh of `dp` x `ep` devices. `impl` is None where no expert lies apart (ep = 1). `auto`: XLA's partitioner cuts
    the program of one device, which sees all tokens."""

    dp: int = 1
    ep: int = 1
    impl: EpImpl | None = None
    auto: bool = False

    @property
    def devices(self) -> int:
        return self.dp * self.ep

    def padded_tokens(self, tokens: int) -> int:
        """So many rows the devices hold: a multiple of their number, so that each has as many."""
        return -(-tokens // self.devices) * self.devices

    def sends(self, *, topk: int, shared: bool) -> Sends:
        """The roundings of what devices send, of a block with or without a shared expert.

        A program that XLA's partitioner has cut has none: what it sums across devices are results of operations, each
        in its own dtype, and every sum of the block is float32 before it is rounded.
        """
        if self.auto:
            return ALONE_SENDS
        output = gradient = 0
        match self.impl:
            case None:
                pass
            case EpImpl.PSUM:
                # The shared expert's result for a token is in the part of one device.
                output = gradient = added(self.ep, topk + shared)
            case EpImpl.RING:
                # The routed sum is rounded as a whole, and again when the shared expert's result is added.
                gradient = added(self.ep, topk)
                output = gradient + shared
            case EpImpl.ALL_TO_ALL | EpImpl.RAGGED_ALL_TO_ALL:
                # Rows come back rounded. The gradients of rows are rounded on one device too.
                output = 1 + shared
        return Sends(output=output, input_gradient=gradient, weight_parts=self.dp, shared_parts=self.devices)


ONE_DEVICE = Spread()
_COUNT: dict[str, Any] = {"least": 1, "below": MOST_DEVICES + 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallel:
    """What the flags ask for. `over` says what that is on so many devices.

    Raises:
        UsageError: a number is too small or too large.
    """

    mode: Annotated[ParallelMode, Flag(name="parallel_mode", help="How a case is spread over devices.")] = (
        ParallelMode.NONE
    )
    dp_impl: Annotated[
        DpImpl | None,
        Flag(
            help="dp: who cuts the program into one for each device; auto: XLA's partitioner.",
            unless=DpImpl.SHARD_MAP.value,
        ),
    ] = None
    ep_impl: Annotated[EpImpl | None, Flag(help="ep: what devices send to each other.", unless=EpImpl.PSUM.value)] = (
        None
    )
    ep_size: Annotated[int | None, Flag(help="ep: devices that share the experts.", unless="all", **_COUNT)] = None
    dp_size: Annotated[int | None, Flag(help="dp and ep: parts of the tokens.", unless="dp: all, ep: 1", **_COUNT)] = (
        None
    )
    devices: Annotated[
        int | None, Flag(help="Devices to use; on CPU so many virtual ones are made.", unless="all", **_COUNT)
    ] = None

    def __post_init__(self) -> None:
        require_ranges(self)

    def over(self, available: int, experts: int) -> Spread:
        """The mesh that the flags ask for, on `available` devices.

        Raises:
            UsageError: there are not so many, the sizes do not fit together, or the experts cannot be shared out.
        """
        count = available if self.devices is None else self.devices
        require_devices(count, available=available)
        match self.mode:
            case ParallelMode.NONE:
                return ONE_DEVICE
            case ParallelMode.DP:
                dp = sized("--dp-size", self.dp_size, count)
                auto = self.dp_impl is DpImpl.AUTO
                if auto and dp == 1:
                    what = "--dp-impl auto changes nothing on one device"
                    raise UsageError(what, cause="there is nothing to cut", hint="use --devices 2")
                return Spread(dp=dp, auto=auto)
            case ParallelMode.EP:
                dp, ep = mesh(count, self.dp_size, self.ep_size)
                if experts % ep:
                    raise UsageError(
                        f"{experts} experts cannot be spread over {ep} devices",
                        cause="every device has as many experts, so the number of devices must divide theirs",
                        hint=self.way_to_fit(experts, count),
                    )
                if ep == 1 and self.ep_impl is not None:
                    raise UsageError(
                        f"--ep-impl {self.ep_impl} changes nothing with one device for all experts",
                        cause=f"the mesh is {dp} x 1 (data x expert), so no expert lies apart",
                        hint=f"leave --ep-impl out, or {self.way_to_fit(experts, count)}",
                    )
                impl = (self.ep_impl or EpImpl.PSUM) if ep > 1 else None
                return Spread(dp=dp, ep=ep, impl=impl)

    def way_to_fit(self, experts: int, devices: int) -> str:
        """The flags with which these experts can be spread over so many devices; what they send needs two of them."""
        return way_to_fit(
            experts,
            devices,
            least=1 if self.ep_impl is None else 2,
            named=self.ep_size is not None or self.dp_size is not None,
        )

    def as_spread(self, spread: Spread) -> "Parallel":
        """The same with all sizes said, as a row reports them; one device has none to say."""
        match self.mode:
            case ParallelMode.NONE:
                return ALONE
            case ParallelMode.DP:
                dp_impl = DpImpl.AUTO if spread.auto else None
                return replace(self, dp_impl=dp_impl, dp_size=spread.dp, devices=spread.devices)
            case ParallelMode.EP:
                return replace(
                    self,
                    ep_impl=spread.impl,
                    ep_size=spread.ep,
                    dp_size=spread.dp,
                    devices=spread.devices,
                )

    @property
    def spread(self) -> Spread:
        """The mesh, once all sizes are said."""
        if self.mode is ParallelMode.NONE:
            return ONE_DEVICE
        auto = self.dp_impl is DpImpl.AUTO
        return Spread(dp=self.dp_size or 1, ep=self.ep_size or 1, impl=self.ep_impl, auto=auto)


ALONE = Parallel()
