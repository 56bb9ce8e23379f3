"""The cases of a table with everything that can tell them apart, looked up by name."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from logbook_agent.errors import UsageError
from logbook_agent.model.run import Device, Row, Scalar
from logbook_agent.results.values import canonical, parse_scalar
from logbook_agent.results.values import is_number as _is_number
from logbook_agent.tables.spec import Case

ABSENT = "—"
_PSEUDO = ("entry", "run", "label", "devices", "row")

K = TypeVar("K", bound=Hashable)


def key_of(value: Scalar) -> str | None:
    """What two spellings of a value share, by the rule of `results`; None for unknown, absent and "null"."""
    text = canonical(value)
    return None if text == canonical(None) else text


def show(value: Scalar) -> str:
    """An axis value as a heading or cell: config is shown as it was given, without separators."""
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def is_number(value: Scalar) -> bool:
    """Whether a value reads as a number, however it was spelt."""
    return _is_number(parse_scalar(value) if isinstance(value, str) else value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A case and its places on every possible axis. `place` is filled in while a frame is built."""

    case: Case
    place: dict[str, Scalar]

    @property
    def row(self) -> Row:
        return self.case.row

    def key(self, name: str) -> str | None:
        """The canonical value on an axis; None when the case does not have it."""
        return key_of(self.place.get(name))

    def keys(self, names: Iterable[str]) -> tuple[str | None, ...]:
        return tuple(self.key(name) for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Items in the order they ran, the config keys in order of appearance, and the names of the pseudo-axes.

    `pseudo["label"]` is `label`, or `@label` where a config key has taken the name.
    """

    items: tuple[Item, ...]
    config: tuple[str, ...]
    pseudo: Mapping[str, str]

    def only(self, keep: Callable[[Item], bool]) -> Frame:
        return frame_of([item.case for item in self.items if keep(item)])

    def axes(self) -> list[str]:
        """Every name that an axis can have here."""
        names = dict.fromkeys(self.config)
        names.update(dict.fromkeys(name for item in self.items for name in item.place))
        return [name for name in names if name != self.pseudo["row"]]

    def check(self, kind: str, names: Iterable[str]) -> None:
        """UsageError naming what exists, when one of the names is no axis of these rows."""
        known = self.axes()
        for name in names:
            if name not in known:
                raise unknown(kind, name, known)


def frame_of(cases: Sequence[Case]) -> Frame:
    """The cases as a frame: config wins over the pseudo-axes, those over labels and observations."""
    config = tuple(dict.fromkeys(key for case in cases for key in case.row.config))
    pseudo = {name: f"@{name}" if name in config else name for name in _PSEUDO}
    items = []
    for case in cases:
        origin: dict[str, Scalar] = {
            pseudo["entry"]: case.entry,
            pseudo["run"]: case.run,
            pseudo["label"]: case.label,
            pseudo["devices"]: devices_text(case.row.devices),
        }
        place = {**case.row.config, **origin}
        for more in (case.row.labels, case.row.observations):
            place.update({name: value for name, value in more.items() if name not in place})
        items.append(Item(case=case, place=place))
    return Frame(items=tuple(items), config=config, pseudo=pseudo)


def groups(items: Iterable[Item], names: Sequence[str]) -> list[list[Item]]:
    """Items with equal values on all the named axes, in order of appearance."""
    return list(by(items, lambda item: item.keys(names)).values())


def by(items: Iterable[Item], key: Callable[[Item], K]) -> dict[K, list[Item]]:
    """Items under their key, keys and items in order of appearance."""
    found: dict[K, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def varies(items: Iterable[Item], name: str) -> bool:
    """Whether the items differ on an axis. A failed case that never said its value does not make it vary."""
    return len({i.key(name) for i in items if i.row.failed is None or i.key(name) is not None}) > 1


def devices_text(devices: Sequence[Device]) -> str | None:
    """What a case ran on: `4 x TPU v5p`; `? of 4 x TPU v5p` when how many took part is unknown."""
    if not devices:
        return None
    return " + ".join(_device_text(device) for device in devices)


def used_devices(devices: Sequence[Device]) -> int | None:
    """How many devices took part; None when one of them does not say, or none did."""
    used = [device.used for device in devices if device.used is not None]
    return sum(used) or None if len(used) == len(devices) else None


def _device_text(device: Device) -> str:
    kind = device.kind or device.platform
    if device.used is not None:
        return f"{device.used} x {kind}"
    return kind if device.count is None else f"? of {device.count} x {kind}"


def unknown(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """The error for a name that these rows do not have: the close ones, and all there are."""
    from difflib import get_close_matches  # costs more than the rest of this package; only errors need it

    names = list(dict.fromkeys(known))
    close = get_close_matches(name, names, n=3)
    return UsageError(
        f"no {kind} named {name!r} in these rows",
        cause=f"close: {', '.join(close)}" if close else "",
        hint=f"there is: {', '.join(names)}" if names else "these rows have none",
    )
