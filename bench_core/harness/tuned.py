"""Tiles that `bench-core tune` found, kept in a file of the user. No JAX."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from bench_core.device import host_cpu
from bench_core.errors import UsageError
from bench_core.flag import ConfigValue
from bench_core.gmm.tile import RowSizes, Tile
from bench_core.harness.case import Case
from bench_core.harness.tuning import Candidate, words_of

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
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(handle, (json.dumps(line) + "\n").encode())
    finally:
        os.close(handle)


def require_writable(path: Path) -> None:
    """Make the folder of the file.

    Raises:
        UsageError: it cannot be made, or the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written",
            cause=str(error.strerror or error),
            hint="use --cache FILE with a file that can",
        ) from error


def kept(path: Path, case: Case, key: Key) -> Tuned:
    """The tile that is kept for a case.

    Raises:
        UsageError: there is none, or the file is damaged.
    """
    same_backend: list[Key] = []
    found = None
    for other, tuned in _lines(path):
        if other == key:
            found = tuned
        elif other.get("backend") == key["backend"]:
            same_backend.append(other)
    if found is not None:
        return found
    raise UsageError(
        f"no tile is kept for this case in {path}",
        cause=_nearest(key, same_backend),
        hint=f"run bench-core tune {' '.join(words_of(case))}",
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


def _lines(path: Path) -> Iterator[tuple[Key, Tuned]]:
    if not path.exists():
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            yield _read(json.loads(line))
        except (ValueError, KeyError, TypeError, UsageError) as error:
            raise UsageError(
                f"{path}, line {number}, is not a tile that bench-core tune wrote",
                cause=" ".join(str(error).split()),
                hint="delete the line, or use --cache with another file",
            ) from error


def _read(line: Any) -> tuple[Key, Tuned]:
    tile, row_tiles = line["tile"], line["row_tiles"]
    candidate = Candidate(
        tile=None if tile is None else Tile.parse(tile),
        row_tiles=None if row_tiles is None else RowSizes.parse(row_tiles),
    )
    return dict(line["key"]), Tuned(candidate=candidate, found=str(line["found"]), when=str(line["when"]))
