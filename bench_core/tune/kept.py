"""Tiles that `bench-core tune` found, kept in a file of the user. No JAX."""

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from bench_core.device import host_cpu
from bench_core.errors import UsageError
from bench_core.flag import ConfigValue
from bench_core.gmm.tile import RowSizes, Tile
from bench_core.harness.case import Case
from bench_core.tune.candidates import Candidate, words_of

TUNED = "tuned"
"""The word for `--tile` that asks for what is kept."""
_NOT_OF_THE_CASE = ("iters", "warmup", "seed", "tile", "row_tiles")

Key = Mapping[str, ConfigValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """The best candidate for a case. `found` says in words how it compares with the default; `when` is a date."""

    candidate: Candidate
    found: str
    when: str

    def label(self) -> str:
        return f"tuned on {self.when}: {self.candidate}, {self.found}"


def cache_file(environ: Mapping[str, str]) -> Path:
    """Where tiles are kept unless `--cache` names a file: below `$XDG_CACHE_HOME`, or `~/.cache`."""
    base = environ.get("XDG_CACHE_HOME")
    folder = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return folder / "bench-core" / "tiles.jsonl"


def key_of(case: Case, *, platform: str, device_kind: str) -> dict[str, ConfigValue]:
    """What a tile belongs to: the device (of a CPU its model and count, too), the versions of jax, and the case without
    its tile, seed and numbers of calls."""
    packages = ["jax", "jaxlib", *(["libtpu"] if platform == "tpu" else [])]
    key: dict[str, ConfigValue] = {"device_kind": device_kind}
    if platform == "cpu":
        cpu = host_cpu()
        key |= {"host_cpu": cpu.model or "unknown", "host_cpu_count": cpu.count}
    key |= {package: _version(package) for package in packages}
    return key | {name: value for name, value in case.config().items() if name not in _NOT_OF_THE_CASE}


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"


def keep(path: Path, key: Key, tuned: Tuned) -> None:
    """Add a line to the file. Of several lines for one case the last one counts.

    Raises:
        UsageError: the file cannot be written.
    """
    candidate = tuned.candidate
    line = {
        "key": dict(key),
        "tile": None if candidate.tile is None else str(candidate.tile),
        "row_tiles": None if candidate.row_tiles is None else str(candidate.row_tiles),
        "found": tuned.found,
        "when": tuned.when,
    }
    require_writable(path)
    # One write at the end of the file: processes that add at the same time do not mix their lines.
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        size = os.fstat(handle).st_size
        # A line that was cut off stays a line of its own.
        start = "\n" if size and os.pread(handle, 1, size - 1) != b"\n" else ""
        os.write(handle, f"{start}{json.dumps(line)}\n".encode())
    finally:
        os.close(handle)


def require_writable(path: Path) -> None:
    """Make the folder of the file.

    Raises:
        UsageError: it cannot be made, or the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_writable(path, error.strerror or str(error)) from error
    if path.is_dir():
        raise _not_writable(path, "it is a folder")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise _not_writable(path, "permission denied")


def _not_writable(path: Path, cause: str) -> UsageError:
    return UsageError(f"{path} cannot be written", cause=cause, hint="use --cache FILE with a file that can")


def kept(path: Path, case: Case, key: Key) -> Tuned:
    """The tile that is kept for a case. Lines that cannot be read are passed over, and named in what it says of itself.

    Raises:
        UsageError: there is none, or the file cannot be read.
    """
    same_backend: list[Key] = []
    damaged: list[str] = []
    found = None
    for number, line in enumerate(_lines(path), start=1):
        try:
            other, tuned = _read(json.loads(line))
        except (ValueError, UsageError):
            damaged.append(str(number))
            continue
        if other == key:
            found = tuned
        elif other.get("backend") == key["backend"]:
            same_backend.append(other)
    passed_over = f"; not readable there: line {', '.join(damaged)}" if damaged else ""
    if found is not None:
        return replace(found, found=found.found + passed_over)
    own_file = "" if path == cache_file(os.environ) else f" --cache {shlex.quote(str(path))}"
    raise UsageError(
        f"no tile is kept for this case in {path}",
        cause=_nearest(key, same_backend) + passed_over,
        hint=f"run bench-core tune {' '.join(words_of(case))}{own_file}",
    )


def _nearest(key: Key, others: list[Key]) -> str:
    if not others:
        return f"nothing was tuned for backend {key['backend']}"
    differ = [[name for name in {**key, **other} if key.get(name) != other.get(name)] for other in others]
    least = min(differ, key=len)
    other = others[differ.index(least)]
    words = ", ".join(f"{name} {other.get(name)}, not {key.get(name)}" for name in least[:4])
    more = f" and {len(least) - 4} more" if len(least) > 4 else ""
    return f"the nearest one has {words}{more}"


def _lines(path: Path) -> list[str]:
    if not path.exists():
        return []
    try:
        return path.read_bytes().decode("utf-8", "replace").splitlines()
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read", cause=error.strerror or str(error), hint="use --cache with the file of tune"
        ) from error


def _read(line: Any) -> tuple[Key, Tuned]:
    """What a line holds. Raises ValueError or UsageError for one that `keep` did not write."""
    if not isinstance(line, dict) or not isinstance(line.get("key"), dict):
        raise ValueError("no key")
    texts = {name: line.get(name) for name in ("tile", "row_tiles", "found", "when")}
    if not all(
        isinstance(text, str) or (text is None and name.endswith(("tile", "tiles"))) for name, text in texts.items()
    ):
        raise ValueError("no tile with its texts")
    tile, row_tiles = texts["tile"], texts["row_tiles"]
    candidate = Candidate(
        tile=None if tile is None else Tile.parse(tile),
        row_tiles=None if row_tiles is None else RowSizes.parse(row_tiles),
    )
    return line["key"], Tuned(candidate=candidate, found=str(texts["found"]), when=str(texts["when"]))
