"""Logbooks for the browser, made by commands in processes of their own: a small one, a hostile one, and one of a
thousand entries. Their pages."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from tests.contract.typing_in import in_folder
from tests.stored import at

# -- a thousand entries ------------------------------------------------------------------------------

# What stands in the one entry that is measured, for numbers that differ in each of its copies.
_NUMBER, _TILE, _TOPK, _SPEED, _MORE, _TIME = "700001", "700002", "700003", "700004.5", "700005.5", "700006.5"
_ROW = f"""
{{"config": {{"quant_mode": "MODE", "topk": {_TOPK}, "tokens": 1024, "hidden": 256, "mlp_dim": 352, "experts": 8}},
 "metrics": {{"tflops": {{"samples": [{_SPEED}, {_MORE}]}}, "time_s": {{"samples": [{_TIME}]}}}}}}
"""
_MANY = f"""
m=none; [ "$LOGBOOK_RUN" = 1 ] && m=int8
echo 'RESULT_JSON {_ROW.replace(chr(10), "")}' | sed "s/MODE/$m/"
"""
_MOMENT = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d")


def thousand(folder: Path, entries: int = 1000) -> None:
    """A logbook of so many entries with all parts, two runs each, and an axis that varies: one that is measured, and
    copies of its files with other numbers and times."""
    typed = in_folder(folder)
    (folder / "many.sh").write_text(_MANY)
    metrics = ("--metric", "tflops:max:TF/s", "--metric", "time_s:min:s")
    typed("start", "many", "--prefix", "MANY", "--title", "A thousand entries", *metrics)
    texts = {
        "--title": f"Tile {_TILE}, the {_NUMBER}th time",
        "--hypothesis": f"Tile {_TILE} is faster at topk {_TOPK}, because the matmuls grow.",
        "--interpretation": "- The range of one covers that of the other.\n- Nothing is shown.",
        "--next": f"repeat it with {_NUMBER} tokens",
    }
    words = [word for option in texts.items() for word in option]
    typed("run", "--repeat", "2", *words, "--", "sh", "many.sh")
    store = folder / "logbooks/many"
    files = [at(store / "entries/MANY-000.yaml"), *sorted(at(store / "runs/MANY-000").glob("*/run.json"))]
    assert len(files) == 3
    texts_of = {path: path.read_text() for path in files}
    for number in range(entries):
        values = {
            "MANY-000": f"MANY-{number:03d}", _NUMBER: number, _TILE: number % 7, _TOPK: 1 + number % 5,
            _SPEED: 101 + number % 17, _MORE: 101 + number % 13, _TIME: 0.01 + number % 17 / 1000,
        }  # fmt: skip
        opened = f"2026-{2 + number // 300:02d}-{1 + number // 12 % 25:02d}T{number % 12 + 8:02d}:00:00"
        for path, text in texts_of.items():
            made = _MOMENT.sub(opened, text)
            for name, value in values.items():
                made = made.replace(name, str(value))
            place = Path(str(path).replace("MANY-000", f"MANY-{number:03d}"))
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(made)


# -- hostile texts -----------------------------------------------------------------------------------

# Each would run, load, send or turn something, if it were live.
HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    '"><svg onload=alert(3)><animate onbegin=alert(4) attributeName=x></svg>',
    "[click](javascript:alert(5)) <javascript:alert(6)> [d](data:text/html,<script>alert(7)</script>)",
    "![p](http://192.0.2.1/p.png) <img src='http://192.0.2.1/q.png'>",
    "</script><script>alert(8)</script><!-- --> {{ 7*7 }} {% raw %}",
    "</style><style>body{display:none}</style>",
    "\u202egnp.exe\u202c \u2067rtl\u2069 \u200f",
    "[r]: javascript:alert(9)\n\n[r] <a href='javascript:alert(10)'>x</a>",
    "<base href='http://192.0.2.1/'><meta http-equiv=refresh content='0;url=http://192.0.2.1/'>",
    "<form action='http://192.0.2.1/'><input name=x autofocus onfocus=alert(11)></form><iframe src=http://192.0.2.1/></iframe>",
    "`</code><script>alert(12)</script>` ``` </pre><script>alert(13)</script>",
    "<link rel=stylesheet href=http://192.0.2.1/s.css> @import 'http://192.0.2.1/'",
    "[i](http://192.0.2.1/\"onmouseover=alert(14)) <a style='position:fixed' id=main name=search>",
)


_EVERY = " ".join(HOSTILE)
_LONG = (
    "\n\n".join(HOSTILE)
    + "\n\n| a | b |\n|---|--:|\n"
    + "".join(f"| {one} | {one} |\n" for one in HOSTILE if "\n" not in one)
)
# What is typed, and stands for a text that is put into the files afterwards, as a branch that is pulled may hold it.
_TEXTS = {
    "zqLONG": _LONG, "zqLINE": _EVERY.replace("\n", " "), "zqNAME": _EVERY[:60], "zqMETRIC": "<b>tflops",
    "zqUNIT": "<i>",
    "https://zq.invalid/1": "javascript:alert(20)",
    "https://zq.invalid/2": 'http://192.0.2.1/"><script>alert(21)</script>',
}  # fmt: skip


def _infected(value: Any, texts: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {_infected(key, texts): _infected(one, texts) for key, one in value.items()}
    if isinstance(value, list):
        return [_infected(one, texts) for one in value]
    if isinstance(value, str):
        for name, text in texts.items():
            value = value.replace(name, text)
    return value


def hostile(folder: Path) -> None:
    """A logbook in which every text is hostile."""
    typed = in_folder(folder)
    header = {
        "title": "zqLINE", "prefix": "EVIL", "goal": "zqLONG", "constraints": ["zqLONG"],
        "metrics": [
            {"name": "zqMETRIC", "direction": "max", "unit": "zqUNIT"},
            {"name": "tflops", "direction": "max", "unit": "TF/s", "text": "zqLINE"},
        ],
        "links": [{"label": "zqLINE", "url": f"https://zq.invalid/{n}"} for n in (1, 2)],
        "stop_criteria": [{"text": "zqLONG"}],
    }  # fmt: skip
    (folder / "evil.yaml").write_text(yaml.safe_dump(header))
    typed("start", "evil", "--from", "evil.yaml")
    result = {"config": {"quant_mode": "zqONE", "zqNAME": "zqONE"}, "metrics": {"tflops": 1.5, "zqMETRIC": 2.5}}
    script = f"echo 'RESULT_JSON {json.dumps(result)}'; echo zqONE; echo zqLONG; echo zqLINE >&2; exit 1"
    fields = [f"--field={label}=zqONE" for label in ("Result", "Negative result", "zqLINE")]
    texts = ["--hypothesis", "zqONE", "--interpretation", "zqONE", "--next", "zqONE", "--label", "zqONE"]
    typed("run", "--title", "zqONE", *texts, *fields, "--env", "X=zqONE", "--", "sh", "-c", script, code=1)
    typed("close", "--unmet", "--conclusion", "zqLONG", "--limitation", "zqLONG", "--next", "zqLONG")
    store = folder / "logbooks/evil"
    header_path = store / "logbook.yaml"
    header_path.write_text(yaml.safe_dump(_infected(yaml.safe_load(header_path.read_text()), _TEXTS)))
    entry = yaml.safe_load(at(store / "entries/EVIL-000.yaml").read_text())
    run = json.loads(at(store / "runs/EVIL-000/01/run.json").read_text())
    for number, one in enumerate(HOSTILE):
        entry_id = f"EVIL-{number:03d}"
        flat = {**_TEXTS, "EVIL-000": entry_id, "zqONE": one.replace("\n", " ")}
        at(store / f"entries/{entry_id}.yaml").write_text(yaml.safe_dump(_infected(entry, flat)))
        place = at(store / f"runs/{entry_id}/01")
        place.mkdir(parents=True, exist_ok=True)
        # What the machine says of itself is as hostile as what the command says.
        texts_of = {**_TEXTS, "EVIL-000": entry_id, "zqONE": one, os.uname().nodename: one}
        (place / "run.json").write_text(json.dumps(_infected(run, texts_of)))
        (place / "output.log").write_text(_LONG)


# -- a small one -------------------------------------------------------------------------------------

_BENCH = """
speed=100; [ "$2" = int8 ] && speed=106
echo "RESULT quant_mode=$2 topk=$4 tflops=$speed.$((LOGBOOK_RUN * 7 % 10))"
"""


def bench(mode: str, topk: int = 2) -> tuple[str, ...]:
    """The command of the small logbook for a case."""
    return "bash", "bench.sh", "--quant-mode", mode, "--topk", str(topk)


def small(folder: Path) -> Callable[..., None]:
    """A logbook with a sweep, an A/B and a note; what types in its folder."""
    typed = in_folder(folder)
    (folder / "bench.sh").write_text(_BENCH)
    goal = ("--title", "A demo", "--goal", "Is int8 faster?", "--stop", "int8 was compared with none")
    typed("start", "demo", "--prefix", "DEMO", *goal, "--metric", "tflops:max:TF/s")
    texts = ("--title", "First numbers", "--hypothesis", "It runs", "--next", "compare both")
    typed("run", *texts, "--", *bench("none"))
    typed("ab", "--axis", "quant_mode=none,int8", "--seed", "1", "--title", "Both modes", "--", *bench("{axis}"))
    typed("note", "--title", "Decided", "--kind", "decision", "--field", "Decision=int8, because of DEMO-001")
    typed("edit", "DEMO-001", "--interpretation", "int8 wins", "--next", "try topk 4")
    return typed
