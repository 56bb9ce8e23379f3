"""A figure as SVG: what matplotlib draws, made small, with a light and a dark theme, and with what each mark says in
the mark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from logbook_agent.model.errors import CannotDraw, LogbookError
from logbook_agent.report.figures.figure import Figure, failure
from logbook_agent.report.figures.figure_words import exact, plain
from logbook_agent.report.plots.drawing import rendered
from logbook_agent.report.plots.layout import lay_out
from logbook_agent.report.plots.theme import FONTS, LIGHT, style_sheet

_SVG = "http://www.w3.org/2000/svg"
_HREF = "{http://www.w3.org/1999/xlink}href"
_ROLE = {value: role for role, value in LIGHT.items()}
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_MARK = re.compile(r"([mi])(\d+)\.(\d+)")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_OURS = re.compile(rf'<svg xmlns="{re.escape(_SVG)}" data-digest="[0-9a-f]+" class="plot" ')
_NOTHING = re.compile(r"rotate\(-?0(?:\.0*)?\b[^)]*\)")
_GEOMETRY = ("d", "x", "y", "width", "height", "transform", "points", "stroke-width", "stroke-dasharray")
# A CSS pixel is 1/96 inch, a unit of the picture 1/72.
_PIXELS = 96 / 72


def svg(figure: Figure, *, inline: bool = False) -> str:
    """The figure as SVG; equal figures give equal text.

    As a file, it has a light and a dark theme and its own background. With `inline`, for an HTML page, it uses the
    colours `--ink`, `--paper`, `--grid` and `--series-1` to `--series-8` that the page sets. Every mark is
    an element of class `mark` with `data-entry`, `data-series`, `data-x`, `data-y`, `data-low`, `data-high` and
    `data-n`, and its title says it in words.

    Raises UsageError if matplotlib is not installed, and CannotDraw if the figure cannot be drawn.
    """
    if figure.missing:
        raise _cannot(figure, figure.missing)
    try:
        return _marked(rendered(figure, lay_out(figure)), figure, inline=inline)
    except LogbookError:
        raise
    except Exception as error:
        raise _cannot(figure, failure(error)) from error


def _cannot(figure: Figure, why: str) -> CannotDraw:
    hint = f"logbook table {figure.entry}" if figure.entry is not None else "logbook table"
    return CannotDraw(f"{figure.title}: not drawn: {why}", why=why, cause="this plot cannot show its data", hint=hint)


def _marked(drawn: str, figure: Figure, *, inline: bool) -> str:
    """What matplotlib drew, for a page (`inline`: IDs are apart from those of other figures on it) or as a file. What
    it draws from equal figures is equal, and so is this."""
    root = ET.fromstring(drawn)  # noqa: S314  our own, made a moment ago
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
        element.text = (element.text or "").strip() if element.tag != "text" else element.text
        element.tail = None
    for child in [c for c in root if c.tag.endswith("metadata")]:
        root.remove(child)
    for defs in root.findall("defs"):
        for style in defs.findall("style"):
            defs.remove(style)
    _mark(root, figure)
    _rename(root, figure.key)
    for element in root.iter():
        _dress(element, inline=inline)
    _without_empty(root)
    return _head(root, figure, inline=inline)


def is_ours(text: str) -> bool:
    """Whether a picture is one that was drawn here."""
    return _OURS.match(text) is not None


def _head(root: ET.Element, figure: Figure, *, inline: bool) -> str:
    *_, width, height = root.attrib["viewBox"].split()
    ids = f"{figure.key}-title", f"{figure.key}-note"
    head = ET.Element(
        "svg",
        {
            **({} if inline else {"xmlns": _SVG, "data-digest": figure.digest}),
            "class": "plot",
            "id": figure.key,
            "data-kind": figure.kind.value,
            "viewBox": f"0 0 {_short(width)} {_short(height)}",
            "width": f"{float(width) * _PIXELS:.0f}",
            "height": f"{float(height) * _PIXELS:.0f}",
            "role": "img",
            "aria-labelledby": " ".join(ids),
            "font-family": FONTS,
            "stroke-linejoin": "round",
        },
    )
    for tag, name, text in (("title", ids[0], figure.title), ("desc", ids[1], figure.note)):
        ET.SubElement(head, tag, {"id": name}).text = plain(text)
    if not inline:
        ET.SubElement(head, "style").text = style_sheet()
    head.extend(list(root))
    return ET.tostring(head, encoding="unicode", short_empty_elements=True) + "\n"


def _mark(root: ET.Element, figure: Figure) -> None:
    """Put the values of each mark, its words and its interval into its element."""
    parents = {child: parent for parent in root.iter() for child in parent}
    found = {element.get("id", ""): element for element in root.iter("g") if _MARK.fullmatch(element.get("id", ""))}
    for name, group in found.items():
        kind, series_at, at = _MARK.fullmatch(name).groups()  # type: ignore[union-attr]
        if kind == "i":
            parents[group].remove(group)
            continue
        series = figure.series[int(series_at)]
        point = series.points[int(at)]
        group.attrib.pop("id")
        ends = [("data-low", point.low), ("data-high", point.high)]
        group.attrib.update(
            {
                "class": "mark",
                "data-entry": plain(point.entry),
                "data-series": plain(series.name),
                "data-x": exact(point.x),
                "data-y": exact(point.y),
                **{key: exact(end) for key, end in ends if end is not None},
                "data-n": str(point.n),
            }
        )
        interval = found.get(f"i{series_at}.{at}")
        if interval is not None:
            # What is drawn once and used again is drawn for the first mark, which lies before all others.
            group[:0] = list(interval)
        title = ET.Element("title")
        title.text = plain(point.said)
        group.insert(0, title)


def _rename(root: ET.Element, key: str) -> None:
    """Number the IDs in the order of the document; those that nothing refers to go."""
    used = dict.fromkeys(_references(root))
    names = {old: f"{key}-{number}" for number, old in enumerate(used, start=1)}
    for element in root.iter():
        if "id" in element.attrib:
            old = element.attrib.pop("id")
            if old in names:
                element.set("id", names[old])
        for attribute, value in list(element.attrib.items()):
            if attribute == _HREF:
                element.attrib.pop(attribute)
                element.set("href", f"#{names[value.removeprefix('#')]}")
            elif attribute == "clip-path":
                element.set(attribute, _REFERENCE.sub(lambda m: f"url(#{names[m[1]]})", value))


def _references(root: ET.Element) -> Iterator[str]:
    for element in root.iter():
        if _HREF in element.attrib:
            yield element.attrib[_HREF].removeprefix("#")
        if (match := _REFERENCE.search(element.get("clip-path", ""))) is not None:
            yield match[1]


def _dress(element: ET.Element, *, inline: bool) -> None:
    """Styles as attributes, which a page's content security policy lets be; colours by their roles; short numbers."""
    classes = [element.attrib["class"]] if "class" in element.attrib else []
    for declaration in filter(None, (d.strip() for d in element.attrib.pop("style", "").split(";"))):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font-family":
            continue
        role = _ROLE.get(value)
        if role is not None and inline:
            value = f"var(--{'ink' if role == 'muted' else role}, {value})"
        elif role is not None:
            classes.append(f"{name[0]}-{role}")
        element.set(name, value)
    if classes:
        element.set("class", " ".join(classes))
    for name in _GEOMETRY:
        if name in element.attrib:
            element.set(name, _short(element.attrib[name]))
    if (turned := element.get("transform")) is not None and _NOTHING.fullmatch(turned):
        element.attrib.pop("transform")


def _short(text: str) -> str:
    """Numbers to a hundredth of a unit, and lines of a path on one."""
    return " ".join(_NUMBER.sub(lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), text).split())


def _without_empty(root: ET.Element) -> None:
    """Groups that say nothing give their content to their parents."""
    for parent in list(root.iter()):
        kept: list[ET.Element] = []
        for child in parent:
            kept += _flat(child)
        parent[:] = kept


def _flat(element: ET.Element) -> list[ET.Element]:
    if element.tag == "g" and not element.attrib:
        return [one for child in element for one in _flat(child)]
    return [] if element.tag == "defs" and not len(element) else [element]
