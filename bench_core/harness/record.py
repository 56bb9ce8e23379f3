"""A row as it is reported: one RESULT line, one RESULT_JSON line, one entry of the result file. No JAX."""

import json
import os
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from bench_core.errors import UsageError
from bench_core.flag import ConfigValue

Number = int | float | None
RESULT_FILE_VARIABLE = "LOGBOOK_RESULT_FILE"
VIRTUAL = "virtual devices share one CPU: ratios of their speeds say nothing about real devices"
"""What is said beside every figure of several devices that are one CPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """All samples of one metric; `direction` is what better means: max or min."""

    samples: tuple[float, ...]
    unit: str
    direction: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceGroup:
    """Visible devices of one kind, and how many of them the case used."""

    platform: str
    kind: str
    count: int
    used: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a case has no metrics: a word, and the words of whoever refused."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What the process ran on and with; the same for every row."""

    devices: tuple[DeviceGroup, ...]
    software: Mapping[str, str]
    host: str
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def available(self) -> int:
        """Devices of the kind that is used, idle ones included."""
        return sum(group.count for group in self.devices if group.used)

    def using(self, count: int) -> "Environment":
        """The same, of a case that uses so many devices of the kind that is used."""
        return replace(self, devices=tuple(replace(d, used=count if d.used else 0) for d in self.devices))


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One case's outcome. `summary` is what the RESULT line says beyond the configuration.

    An unknown number is None, and null in JSON; it is never zero.
    """

    config: Mapping[str, ConfigValue]
    environment: Environment
    metrics: Mapping[str, Measurement] = field(default_factory=dict)
    summary: Mapping[str, ConfigValue] = field(default_factory=dict)
    observations: Mapping[str, Number] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    failed: Failure | None = None

    def as_json(self) -> dict[str, object]:
        document: dict[str, object] = {
            "config": dict(self.config),
            "metrics": {name: asdict(metric) for name, metric in self.metrics.items()},
            "observations": dict(self.observations),
            "labels": {**self.environment.labels, **self.labels},
            "devices": [asdict(device) for device in self.environment.devices],
            "software": dict(self.environment.software),
            "host": self.environment.host,
        }
        if self.failed is not None:
            document["failed"] = asdict(self.failed)
        return document

    def lines(self) -> list[str]:
        """The lines for stdout. A row without a summary has no RESULT line: there is no result to read from it."""
        pairs = [f"{key}={shlex.quote(_word(value))}" for key, value in {**self.config, **self.summary}.items()]
        result = [" ".join(["RESULT", *pairs])] if self.summary else []
        return [*result, f"RESULT_JSON {to_json(self.as_json())}"]


def _word(value: object) -> str:
    # As JSON writes it, so that line and JSON agree on true and false.
    return str(value).lower() if isinstance(value, bool) else str(value)


def to_json(document: object) -> str:
    """Strict JSON on one line.

    Raises:
        ValueError: a number is NaN or infinite, which JSON does not have.
    """
    return json.dumps(document, allow_nan=False)


def result_file(environ: Mapping[str, str]) -> Path | None:
    """The file that $LOGBOOK_RESULT_FILE names; None when it is unset or empty.

    Raises:
        UsageError: its directory does not exist: better to know before an hour of measuring.
    """
    name = environ.get(RESULT_FILE_VARIABLE)
    if not name:
        return None
    path = Path(name)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise UsageError(
            f"{RESULT_FILE_VARIABLE} names {path}, which cannot be written",
            cause=f"{path.parent} is missing or not writable",
            hint="create the directory, or unset the variable",
        )
    return path


def write_rows(path: Path, documents: Sequence[Mapping[str, object]]) -> None:
    """Replace `path` by {"rows": [...]}, atomically: a reader sees the old rows or the new ones. A document is
    `Row.as_json`."""
    text = to_json({"rows": list(documents)})
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
