"""The cases of a table with everything that can tell them apart, by the name of an axis."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct, field

from logbook_agent.findings.cases import Case
from logbook_agent.model.errors import UsageError
from logbook_agent.model.gates import JUDGED
from logbook_agent.model.run import Row, Scalar
from logbook_agent.model.values import canonical, parse_scalar, spelt
from logbook_agent.model.values import is_number as _is_number
from logbook_agent.model.worker_report import Device
from logbook_agent.text.phrases import listed

ABSENT = "—"
_PSEUDO = ("entry", "run", "label", "state", "devices", "row", "command", "cwd")
# A case without one of these facts does not say what it was; without another (a variable), it had none.
PARTLY_KNOWN = ("package:", "file:", "host")

K = TypeVar("K", bound=Hashable)
# Which run a case is of; sorts by when the run started.
RunKey = tuple[str, str, int]


@functools.lru_cache(maxsize=16_384, typed=True)
def key_of(value: Scalar) -> str | None:
    """The canonical text of a value, the same for all its spellings; None for unknown, absent and "null".

    Remembered, because a table asks for the same few values again and again (typed: 1 and True differ).
    """
    text = canonical(value)
    return None if text == canonical(None) else text


def show(value: Scalar) -> str:
    """An axis value as a heading or cell: config is shown as it was given, without separators."""
    return ABSENT if value is None else spelt(value)


def is_number(value: Scalar) -> bool:
    """Whether a value reads as a number, however it was spelt."""
    return _is_number(parse_scalar(value) if isinstance(value, str) else value)


class Item(Struct, frozen=True, kw_only=True):
    """A case and its places on every possible axis. `place` is filled in while a frame is built.

    `facts` are the axes whose values are text: version 0.10 is not version 0.1.
    """

    case: Case
    place: dict[str, Scalar]
    facts: Mapping[str, str]

    @property
    def row(self) -> Row:
        return self.case.row

    @property
    def run(self) -> RunKey:
        return self.case.started, self.case.entry, self.case.run

    def key(self, name: str) -> str | None:
        """The canonical value on an axis; None when the case does not have it."""
        value = self.place.get(name)
        return None if value is None else str(value) if name in self.facts else key_of(value)

    def keys(self, names: Iterable[str]) -> tuple[str | None, ...]:
        return tuple(self.key(name) for name in names)

    def says(self, name: str) -> bool:
        """Whether the case tells its value on an axis, which may be that it has none. A case that failed, and was not
        judged later, may not have reported all its config."""
        if self.key(name) is not None:
            return True
        if name in self.facts:
            return not self.facts[name].startswith(PARTLY_KNOWN)
        return self.row.failed is None or self.row.failed.reason in JUDGED


class Frame(Struct, frozen=True, kw_only=True):
    """Items in the order they ran, the config keys in order of appearance, and the names of the pseudo-axes.

    `pseudo["label"]` is `label`, or `@label` where a config key has taken the name; so are `facts`, each with
    the name it has in the cases.
    """

    items: tuple[Item, ...]
    config: tuple[str, ...]
    pseudo: Mapping[str, str]
    facts: Mapping[str, str] = field(default_factory=dict)

    def only(self, items: Iterable[Item]) -> Frame:
        return frame_of([item.case for item in items])

    def axes(self) -> list[str]:
        """Every name that an axis can have here."""
        names = dict.fromkeys(self.config)
        names.update(dict.fromkeys(name for item in self.items for name in item.place))
        return [name for name in names if name != self.pseudo["row"]]

    def check(self, names: Iterable[str], *, option: str) -> None:
        """Raise UsageError for a name that is no axis of these rows."""
        origins = self.pseudo.values()
        # The hint names one in which the rows differ.
        known = sorted(self.axes(), key=lambda name: (not varies(self.items, name), name in origins))
        # Two sides are two values.
        offered = [name for name in known if option != "--axis" or varies(self.items, name)]
        for name in names:
            if name not in known:
                raise unknown("axis", name, offered, option=option, value="=VALUE" if option == "--where" else "")

    def key_of(self, name: str, value: Scalar) -> str | None:
        """The key of a value on an axis, as one types it; `—` is typed for none."""
        if value == ABSENT:
            return None
        return str(value) if name in self.facts else key_of(value)

    def having(self, where: Mapping[str, Scalar]) -> list[Item]:
        """The items with these values, however they are spelt."""
        wanted = {name: self.key_of(name, value) for name, value in where.items()}
        return [item for item in self.items if all(item.key(name) == key for name, key in wanted.items())]


def frame_of(cases: Sequence[Case]) -> Frame:
    """The cases as a frame: config wins over facts and pseudo-axes, those over labels and observations."""
    config = tuple(dict.fromkeys(key for case in cases for key in case.row.config))
    pseudo = {name: f"@{name}" if name in config else name for name in _PSEUDO}
    known = dict.fromkeys(name for case in cases for name in case.facts)
    facts = {f"@{name}" if name in config or name in _PSEUDO else name: name for name in known}
    items = []
    for case in cases:
        origin: dict[str, Scalar] = {
            pseudo["entry"]: case.entry,
            pseudo["run"]: case.run,
            pseudo["label"]: case.label,
            pseudo["state"]: case.state,
            pseudo["devices"]: devices_text(case.row.devices),
            **{axis: case.facts.get(name) for axis, name in facts.items()},
        }
        place = {**case.row.config, **origin}
        for more in (case.row.labels, case.row.observations):
            place.update({name: _whole(value) for name, value in more.items() if name not in place})
        items.append(Item(case=case, place=place, facts=facts))
    return Frame(items=tuple(items), config=config, pseudo=pseudo, facts=facts)


def _whole(value: Scalar) -> Scalar:
    """An observation as an integer, if it is whole."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value


def on_accelerator(case: Case) -> bool:
    """Whether an accelerator took part, so that the host is not what was measured."""
    return any(device.platform != "cpu" for device in case.row.devices)


def groups(items: Iterable[Item], names: Sequence[str]) -> list[list[Item]]:
    """Items with equal values on all the named axes, in order of appearance."""
    return list(by(items, lambda item: item.keys(names)).values())


def by(items: Iterable[Item], key: Callable[[Item], K]) -> dict[K, list[Item]]:
    """Items under their key, keys and items in order of appearance."""
    found: dict[K, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def varies(items: Sequence[Item], name: str) -> bool:
    """Whether the items differ on an axis, as far as they tell their values."""
    return len(items) > 1 and len({item.key(name) for item in items if item.says(name)}) > 1


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


def unknown(what: str, name: str, known: Iterable[str], *, option: str, value: str = "") -> UsageError:
    """The error for a name that these rows do not have, with all names there are and the closest one; `value` is what
    stands behind a name where it is typed."""
    from difflib import get_close_matches  # costs more than the rest of this package; only errors need it

    names = list(dict.fromkeys(known))
    close = get_close_matches(name, names, n=1)
    example = f"{option}{'' if option.endswith('=') else ' '}{(close or names or [''])[0]}{value}"
    return UsageError(
        f"no {what} named {name!r} in these rows",
        cause=f"available: {listed(names)}" if names else "these rows have none",
        hint=(f"did you mean {example}?" if close else f"choose one of them: {example}") if names else "leave it out",
    )
