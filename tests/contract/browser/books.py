"""Logbooks for the browser: a small real one, a hostile one, and one of a thousand entries."""

from __future__ import annotations

from pathlib import Path

from logbook_agent.model.entry import Entry, Field
from logbook_agent.model.header import Closing, Criterion, Header, Link, Metric
from logbook_agent.model.run import Device, Env, Exit, Failure, Host, Measurement, Output, Row, Run
from logbook_agent.store.book import Book
from logbook_agent.store.files import make_folder, write_text
from logbook_agent.store.root import create
from logbook_agent.store.workspace import Workspace
from tests.conftest import Cli

METRICS = (Metric(name="tflops", direction="max", unit="TF/s"), Metric(name="time_s", direction="min", unit="s"))


def workspace(folder: Path) -> Workspace:
    return Workspace(cwd=folder, environ={"LOGBOOK_ROOT": str(folder / "logbooks")})


def thousand(folder: Path, entries: int = 1000, runs: int = 2) -> Book:
    """A logbook of so many entries with all parts, a few runs each, and an axis that varies."""
    book = create(
        folder / "logbooks",
        Header(
            topic="many", title="A thousand entries", prefix="MANY", opened="2026-02-10T10:00:00+00:00", metrics=METRICS
        ),
        durable=False,
    )
    for number in range(entries):
        entry_id = f"MANY-{number:03d}"
        opened = f"2026-{2 + number // 300:02d}-{1 + number // 12 % 25:02d}T{number % 12 + 8:02d}:00:00+00:00"
        fields = (
            Field(
                label="Hypothesis", text=f"Tile {number % 7} is faster at topk {number % 5}, because the matmuls grow."
            ),
            Field(label="Interpretation", text="- The range of one covers that of the other.\n- Nothing is shown."),
            Field(label="Next action", text=f"repeat it with {number} tokens"),
        )
        book.write_entry(
            Entry(id=entry_id, title=f"Tile {number % 7}, the {number}th time", opened=opened, fields=fields)
        )
        for run in range(1, runs + 1):
            book.new_run(entry_id)
            book.write_run(measured(entry_id, run, opened, number))
    return book


def measured(entry_id: str, run: int, opened: str, number: int) -> Run:
    side = ("none", "int8")[run % 2]
    config = {"quant_mode": side, "topk": 1 + number % 5, "tokens": 1024, "hidden": 256, "mlp_dim": 352, "experts": 8}
    metrics = {
        "tflops": Measurement(samples=(100.0 + number % 17 + run, 101.0 + number % 13), unit="TF/s", direction="max"),
        "time_s": Measurement(samples=(0.01 + number % 17 / 1000,), unit="s", direction="min"),
    }
    return Run(
        entry=entry_id,
        run=run,
        label=side,
        argv=("bench-core", "hillclimb", "--quant-mode", side, "--topk", str(1 + number % 5), "--tokens", "1024"),
        env=Env(relevant={"JAX_PLATFORMS": "cpu"}),
        config=dict(config),
        host=Host(name="vm", cores=2),
        devices=(Device(platform="cpu", count=1),),
        software={"python": "3.11.7", "jax": "0.10.2"},
        started=opened,
        ended=opened,
        duration_s=1.5,
        exit=Exit(code=0),
        output=Output(bytes=120, lines=3, sha256="0" * 64, tail=("one", "two", "three")),
        rows=(Row(config=dict(config), metrics=metrics, software={"jax": "0.10.2"}),),
    )


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


def hostile(folder: Path) -> Book:
    """A logbook in which every text is hostile; what may not hold any text has one of ours."""
    words = " ".join(HOSTILE)
    text = (
        "\n\n".join(HOSTILE)
        + "\n\n| a | b |\n|---|--:|\n"
        + "".join(f"| {one} | {one} |\n" for one in HOSTILE if "\n" not in one)
    )
    header = Header(
        topic="evil",
        title=words.replace("\n", " "),
        prefix="EVIL",
        opened="2026-02-10T10:00:00+00:00",
        goal=text,
        summary=text,
        metrics=(
            Metric(name="<b>tflops", direction="max", unit="<i>"),
            Metric(name="tflops", direction="max", unit="TF/s", text=words),
        ),
        constraints=(text,),
        links=(
            Link(label=words, url="javascript:alert(20)"),
            Link(label="w", url='http://192.0.2.1/"><script>alert(21)</script>'),
        ),
        stop_criteria=(Criterion(text=text),),
        closing=Closing(at="2026-02-11T10:00:00+00:00", conclusion=text, limitations=(text,), next_steps=(text,)),
    )
    book = create(folder / "logbooks", header, durable=False)
    labels = ("Hypothesis", "Result", "Interpretation", "Next action", "Negative result", words.replace("\n", " "))
    for number, one in enumerate(HOSTILE):
        entry_id = f"EVIL-{number:03d}"
        fields = tuple(Field(label=label, text=one if label != "Result" else text) for label in labels)
        book.write_entry(
            Entry(id=entry_id, title=one.replace("\n", " "), opened="2026-02-10T10:43:00+00:00", fields=fields)
        )
        book.new_run(entry_id)
        book.write_run(_hostile_run(entry_id, one, words))
        make_folder(book.run_folder(entry_id, 1), within=book.root)
        write_text(book.log_path(entry_id, 1), text, within=book.root, durable=False)
    return book


def _hostile_run(entry_id: str, one: str, words: str) -> Run:
    row = Row(
        config={"quant_mode": one, words[:60]: one},
        metrics={"tflops": Measurement(samples=(1.5,), unit=one), one: Measurement(samples=(2.5,), unit="s")},
        observations={one: 1.0},
        labels={"ran": one},
        devices=(Device(platform=one, kind=one, count=1),),
        software={one: one},
        host=one,
        failed=Failure(reason=one, message=words) if entry_id.endswith("3") else None,
    )
    return Run(
        entry=entry_id,
        run=1,
        label=one,
        argv=("bash", "-c", one),
        env=Env(declared={"X": one}, relevant={"XLA_FLAGS": one}),
        config={"quant_mode": one},
        cwd=one.replace("\n", ""),
        started="2026-02-10T10:43:00+00:00",
        ended="2026-02-10T10:44:00+00:00",
        duration_s=60.0,
        exit=Exit(code=1),
        rows=(row,),
        problems=(one,),
        host=Host(name=one, os=one),
        software={"jax": one},
        output=Output(bytes=9, lines=1, sha256="0" * 64, head=(one,), tail=(one, words), error_tail=(one,)),
    )


def small(cli: Cli) -> None:
    """A logbook with a sweep, an A/B and a note, made by the command line itself."""
    bench = 'speed=100; [ "$2" = int8 ] && speed=106; '
    bench += 'echo "RESULT quant_mode=$2 topk=$4 tflops=$speed.$((LOGBOOK_RUN * 7 % 10))"'
    Path("bench.sh").write_text(f"{bench}\n")
    steps = (
        (
            "start",
            "demo",
            "--prefix",
            "DEMO",
            "--title",
            "A demo",
            "--goal",
            "Is int8 faster?",
            "--metric",
            "tflops:max:TF/s",
            "--stop",
            "int8 was compared with none",
        ),
        (
            "run",
            "--title",
            "First numbers",
            "--hypothesis",
            "It runs",
            "--next",
            "compare both",
            "--",
            "bash",
            "bench.sh",
            "--quant-mode",
            "none",
            "--topk",
            "2",
        ),
        (
            "ab",
            "--axis",
            "quant_mode=none,int8",
            "--seed",
            "1",
            "--title",
            "Both modes",
            "--",
            "bash",
            "bench.sh",
            "--quant-mode",
            "{axis}",
            "--topk",
            "2",
        ),
        ("note", "--title", "Decided", "--kind", "decision", "--field", "Decision=int8, because of DEMO-001"),
        ("edit", "DEMO-001", "--interpretation", "int8 wins", "--next", "try topk 4"),
    )
    for step in steps:
        answer = cli(*step)
        assert answer.code == 0, answer.err
