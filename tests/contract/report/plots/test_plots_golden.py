"""Where every text and every mark of a picture lies, against pictures that people looked at. The tolerance is for
another version of matplotlib; a label that moved by two points, of the nine that its letters are high, fails.

To accept a change: run this file by pytest with LOGBOOK_UPDATE_GOLDEN=1, then look at the pictures.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from tests.contract.e2e.golden.golden_support import UPDATE
from tests.contract.report.plots.plots_support import SVG, Seeded, parsed

pytestmark = pytest.mark.slow


GOLDEN = Path(__file__).with_name("places.json")


# In points, of which a picture is 576 wide.
TOLERANCE = 1.0


Places = dict[str, list[list[float]]]


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


_MOVED = re.compile(r"translate\(([-\d.]+)[ ,]+([-\d.]+)\)")


def places(text: str) -> Places:
    """By text, and by series and value of a mark, where they stand, to a tenth of a point."""
    root = parsed(text)
    found: Places = {"picture": [[float(part) for part in root.attrib["viewBox"].split()[2:]]]}
    for element in root.iter(f"{SVG}text"):
        place = _place_of(element.attrib)
        assert place is not None, f"{element.text} stands nowhere"
        # The words of the note below are tested elsewhere.
        name = "note" if element.get("class") == "f-muted" else f"text {element.text}"
        found.setdefault(name, []).append(place)
    for mark in root.iter(f"{SVG}g"):
        if mark.get("class") == "mark":
            name = f"mark {mark.get('data-series')} {mark.get('data-x')}"
            for element in mark.iter():
                place = _place_of(element.attrib)
                found.setdefault(name, []).extend([place] if place is not None else _corners(element.get("d", "")))
    return found


def _place_of(attributes: dict[str, str]) -> list[float] | None:
    if "x" in attributes:
        return [round(float(attributes[name]), 1) for name in ("x", "y")]
    moved = _MOVED.search(attributes.get("transform", ""))
    return [round(float(part), 1) for part in moved.groups()] if moved is not None else None


def _corners(path: str) -> list[list[float]]:
    """Upper left and lower right of all points of a path; none of what is no path."""
    numbers = [float(number) for number in _NUMBER.findall(path)]
    if not numbers:
        return []
    xs, ys = numbers[::2], numbers[1::2]
    return [[round(pick(xs), 1), round(pick(ys), 1)] for pick in (min, max)]


def moved(before: Places, after: Places) -> list[str]:
    """What lies elsewhere, or is not there."""
    found = [f"{name}: only one has it" for name in sorted(before.keys() ^ after.keys())]
    for name in sorted(before.keys() & after.keys()):
        same = len(before[name]) == len(after[name])
        if not same or any(math.dist(a, b) > TOLERANCE for a, b in zip(before[name], after[name], strict=True)):
            found.append(f"{name}: {before[name]} -> {after[name]}")
    return found


def test_texts_and_marks_lie_where_they_did(seeded: Seeded) -> None:
    found = {key: places(picture) for key, picture in seeded.pictures().items()}
    if UPDATE:
        lines = [f"{json.dumps(key)}: {json.dumps(found[key], ensure_ascii=False)}" for key in sorted(found)]
        GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    golden = json.loads(GOLDEN.read_text())
    assert sorted(found) == sorted(golden)
    assert {key: far for key in found if (far := moved(golden[key], found[key]))} == {}
