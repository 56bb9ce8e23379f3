"""A logbook with something to plot of every kind, made by the command line; and what can be read off a picture."""

from __future__ import annotations

import contextlib
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.conftest import Answer, Cli
from tests.seams import Facts

SVG = "{http://www.w3.org/2000/svg}"
PROGRAM = Path(__file__).with_name("measured.py")


@dataclass(frozen=True, kw_only=True)
class Seeded:
    """`logbook ARGS` in a folder with the logbook `ep` (EP)."""

    cli: Cli
    folder: Path

    def ok(self, *args: str) -> Answer:
        answer = self.cli(*args)
        assert answer.code == 0, (args, answer)
        return answer

    def figures(self, *asked: str) -> dict[str, Facts]:
        """The data of the plots by their keys, which are drawn."""
        found = [Facts(one) for one in self.ok("plot", *asked, "--json").data]
        assert len({f.key for f in found}) == len(found)
        return {f.key: f for f in found}

    @property
    def kept(self) -> list[str]:
        """The files of plots, without their ending."""
        return sorted(path.stem for path in (self.folder / "logbooks/ep/plots").glob("*.svg"))

    def pictures(self) -> dict[str, str]:
        """Every plot that there is, drawn, by its key."""
        return {key: self.picture(key) for key in self.figures()}

    def picture(self, key: str) -> str:
        return (self.folder / f"logbooks/ep/plots/{key}.svg").read_text()

    def run(self, *args: str, code: int = 0) -> Answer:
        """A run of the stand-in: `OPTIONS -- WORDS`."""
        at = args.index("--")
        words = (sys.executable, "-S", str(PROGRAM), *args[at + 1 :])
        answer = self.cli("run", *args[:at], "--", *words)
        assert answer.code == code, answer
        return answer


def fill(seeded: Seeded) -> None:
    """What there is to plot: EP-000 a comparison over an axis, EP-001 pairs, EP-002 runs of one case whose level
    changes, EP-003 one that failed, EP-004 a sweep without a comparison."""
    python = (sys.executable, "-S", str(PROGRAM))
    start = ("start", "ep", "--prefix", "EP", "--metric", "tflops:max:TF/s", "--metric", "time_s:min:s")
    seeded.ok(*start)
    ab = ("ab", "--seed", "1")
    modes = (*python, "modes", "--topk", "all", "--parallel-mode", "{axis}")
    seeded.ok(*ab, "--axis", "parallel_mode=none,ep", "--pairs", "12", "--", *modes)
    seeded.ok(*ab, "--axis", "quant_mode=none,int8", "--pairs", "10", "--", *python, "int8", "--quant-mode", "{axis}")
    seeded.run("--title", "One case", "--repeat", "10", "--", "one")
    seeded.run("--title", "It fails", "--", "one", "--fail", code=3)
    seeded.run("--title", "Sweep", "--repeat", "3", "--", "modes", "none")


def copied(cli: Cli, folder: Path, cache: Path) -> Seeded:
    """The same logbook for every test: made once, in whichever process is the first, then copied."""
    seeded, mine = Seeded(cli=cli, folder=folder), folder / "logbooks"
    if cache.exists():
        shutil.copytree(cache, mine)
    else:
        fill(seeded)
        whole = folder.parent / "whole"
        shutil.copytree(mine, whole)
        with contextlib.suppress(OSError):  # another process was faster
            whole.rename(cache)
    return seeded


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314  made by us, from hostile data: that it can be read is what is tested


@dataclass(frozen=True, kw_only=True)
class Mark:
    """What a mark says, the entry that it leads to, and where its marker stands."""

    said: str
    entry: str
    place: tuple[float, float]


def marks(text: str) -> list[Mark]:
    """Every mark, in the order of the picture."""
    return [
        Mark(
            said=mark.findtext(f"{SVG}title") or "",
            entry=mark.get("href", "").removeprefix("#"),
            place=_place([*mark][-1]),
        )
        for mark in parsed(text).iter(f"{SVG}a")
        if mark.get("class") == "mark"
    ]


def _place(element: ET.Element) -> tuple[float, float]:
    if "x" in element.attrib:
        return float(element.attrib["x"]), float(element.attrib["y"])
    left, down = re.match(r"M([-\d.]+) ([-\d.]+)", element.attrib["d"]).groups()  # type: ignore[union-attr]
    return float(left), float(down)


def texts(text: str) -> list[str]:
    return [e.text or "" for e in parsed(text).iter(f"{SVG}text")]


@dataclass(frozen=True, kw_only=True)
class Label:
    """A text with the box that it takes: each sign as wide as 0.6 of the height of its letters."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Label) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def labels(text: str) -> list[Label]:
    found = []
    for element in parsed(text).iter(f"{SVG}text"):
        size = {"title": 14, "note": 11}.get(element.get("class", ""), 12)
        width = 0.6 * size * len(element.text or "")
        left = float(element.attrib["x"]) - width * {"middle": 0.5, "end": 1}.get(element.get("text-anchor", ""), 0)
        base = float(element.attrib["y"])
        found.append(Label(text=element.text or "", left=left, top=base - 0.75 * size, right=left + width, bottom=base))
    return found


def drawn_data(figure: Facts) -> list[tuple[str, str]]:
    """What the marks of a picture have to say, and where they lead, from the data; of a band or a level one mark."""
    return [
        (p["said"], p["entry"])
        for s in figure.series
        for p in (s["points"][:1] if s["shape"] in ("band", "rule") else s["points"])
    ]
