"""Sizes of a mesh: which fit so many devices and experts, and what to type where they do not. No JAX."""

from bench_core.errors import UsageError

MOST_DEVICES = 1024
"""More are refused. To make that many virtual ones of a CPU takes three seconds, and some hundred MiB of memory."""


def require_devices(count: int, *, available: int) -> None:
    """Refuse to use more devices than there are.

    Raises:
        UsageError: it is more.
    """
    if count > available:
        raise UsageError(
            f"--devices {count} asks for more devices than there are",
            cause=f"there are {available}",
            hint=f"use --devices {available}",
        )


def sized(flag: str, size: int | None, count: int) -> int:
    """The size that `flag` asks for, or all of the `count` devices.

    Raises:
        UsageError: there are not so many.
    """
    if size is not None and size > count:
        raise UsageError(
            f"{flag} {size} needs {size} devices",
            cause=f"there are {count}",
            hint=f"use {flag} {count}, or --devices {size}",
        )
    return count if size is None else size


def mesh(count: int, dp_size: int | None, ep_size: int | None) -> tuple[int, int]:
    """Data x expert of a mesh over `count` devices; a size that is not given takes those that are left.

    Raises:
        UsageError: there are not so many, or the data axis does not divide them.
    """
    if dp_size is None:
        return 1, sized("--ep-size", ep_size, count)
    if ep_size is None:
        sized("--dp-size", dp_size, count)
        if count % dp_size:
            raise UsageError(
                f"--dp-size {dp_size} does not divide {count} devices",
                cause="every data shard has as many devices for its experts",
                hint=f"use --ep-size {max(1, count // dp_size)} beside it, or a --dp-size that divides {count}",
            )
        return dp_size, count // dp_size
    if dp_size * ep_size > count:
        raise UsageError(
            f"--dp-size {dp_size} x --ep-size {ep_size} needs {dp_size * ep_size} devices",
            cause=f"there are {count}",
            hint=f"use --devices {dp_size * ep_size}, or smaller sizes",
        )
    return dp_size, ep_size


def way_to_fit(experts: int, devices: int, *, least: int = 1, named: bool = False) -> str:
    """Flags with which `experts` can be spread over devices, `least` or more of them for all experts.

    Args:
        experts: of the block.
        devices: that there are; all of them are used where that is possible.
        least: devices that share the experts.
        named: whether `--ep-size` or `--dp-size` was given, so that both must be said.
    """
    fitting = [size for size in range(devices, least - 1, -1) if experts % size == 0 and devices % size == 0]
    if fitting:
        said = ", ".join(map(str, fitting))
        return f"use --ep-size {fitting[0]} --dp-size {devices // fitting[0]} (sizes that fit: {said})"
    fewer = [size for size in range(devices - 1, least - 1, -1) if experts % size == 0]
    if fewer:
        return f"use --devices {fewer[0]}" + (f" --ep-size {fewer[0]} --dp-size 1" if named else "")
    if devices < least:
        return f"use {least} devices or more"
    more = -(-experts // devices) * devices
    return f"use --experts {more}" + (f" --ep-size {devices} --dp-size 1" if named else "")
