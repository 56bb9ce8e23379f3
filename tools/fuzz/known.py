"""Documents that once ended a command, hung it or led it outside. Every campaign begins with them."""

from __future__ import annotations

import json

from tools.fuzz.values import BOOK, ENTRIES, RUN, VIEW, Content, Document, Link, Pipe, Words

_ENTRY = f"{BOOK}/entries/{ENTRIES['MOE-001']}.yaml"
_RUN = f"{RUN}/run.json"
_HEADER = f"{BOOK}/logbook.yaml"
_LIST: Words = ("list", "--json")
_READ: tuple[Words, ...] = (_LIST, ("status",), ("show", "MOE-001"), ("list", "x"))
_WRITE: tuple[Words, ...] = (
    ("note", "--title", "n"),
    ("doctor", "--json"),
    ("render",),
)

_ENTRY_TEXT = b"format: 2\ntitle: t\nopened: '2026-02-10T10:57:00+00:00'\n"
_HEADER_TEXT = b"format: 1\ntopic: moe\ntitle: t\nprefix: %s\nopened: '2026-02-10T10:43:00+00:00'\n"
_BOMB = b"a: &a [x, x]\n" + b"".join(b"%c: &%c [*%c, *%c]\n" % (97 + n, 97 + n, 96 + n, 96 + n) for n in range(1, 25))
_RUN_DATA = {
    "format": 2,
    "argv": ["x\udcff"],
    "cwd": ".",
    "host": {"name": "h", "os": "o"},
    "started": "2026-02-10T11:04:00+00:00",
    "ended": "2026-02-10T11:05:00+00:00",
    "exit": {"code": 0},
}
_NO_SAMPLE = {**_RUN_DATA, "argv": ["x"], "rows": [{"metrics": {"tflops": {"samples": []}}}]}


def _entry(text: bytes, *commands: Words) -> Document:
    return Document(kind="entry", path=_ENTRY, content=_ENTRY_TEXT + text, commands=commands or _READ, name="MOE-001")


def _run(text: bytes, *commands: Words) -> Document:
    return Document(kind="run", path=_RUN, content=text, commands=commands or _READ, name="MOE-002")


def _at(path: str, content: Content, *commands: Words, kind: str = "special") -> Document:
    return Document(kind=kind, path=path, content=content, commands=commands or _READ)


def _header(prefix: bytes) -> Document:
    other = ("-L", "other", "list", "--json")
    return Document(kind="header", path=_HEADER, content=_HEADER_TEXT % prefix, commands=(other, *_WRITE))


KNOWN: tuple[Document, ...] = (
    _entry(b"x: " + b"[" * 5_000),
    _entry(b"x: " + b"{a: " * 5_000 + b"1" + b"}" * 5_000),
    _entry(b"x: " + b"9" * 5_000 + b"\n"),
    _entry(_BOMB),
    _entry(b"a: &a [*a]\n"),
    _entry(b"comparisons:\n- references: [MOE-002]\n", ("list", "--json"), ("compare", "MOE-002"), ("render",)),
    _entry(b"continues: MOE-001\n", *_READ, ("render",)),
    _run(b'{"x": ' + b"[" * 3_000),
    _run(b'{"format": ' + b"9" * 5_000 + b"}"),
    _run(b'{"entry": "caf\xe9"}'),
    _run(json.dumps(_RUN_DATA).encode(), *_READ, ("sync", "--offline", "{top}/out")),
    _run(json.dumps(_NO_SAMPLE).encode()),
    _header(b"/abs/path/X"),
    _header(b"../../X"),
    _at("work/logbook.toml", b"x = " + b"[" * 3_000, kind="settings"),
    _at("work/logbook.toml", b"root = 'caf\xe9'", kind="settings"),
    _at("work/logbook.toml", b"x = " + b"9" * 5_000, kind="settings"),
    _at("work/logbook.toml", b"log_bytes = 1" + b"0" * 400, kind="settings"),
    _at("work/logbook.toml", Link(to="/dev/zero")),
    _at("work/logbook.toml", Pipe()),
    _at(_ENTRY, Link(to="/dev/zero"), *_READ, *_WRITE),
    _at(_ENTRY, Pipe(), *_READ, *_WRITE),
    _at(_RUN, Link(to="/dev/zero"), *_READ, ("doctor",)),
    _at(VIEW, Link(to="{top}/outside/canary.txt"), *_WRITE),
    _at(f"{BOOK}/entries", Link(to="{top}/outside"), *_READ, *_WRITE),
    _at("work/logbooks/.ids", Link(to="{top}/outside"), *_WRITE),
    _at(
        "work/recipes/fuzz.yaml",
        b"name: fuzz\nscale: {tiny: {axes: {topk: [1]}}}\naxes: 1\n",
        ("sweep", "recipes/fuzz.yaml", "--scale", "tiny"),
        kind="recipe",
    ),
    _at(
        VIEW,
        b"<!-- logbook:end x -->\n" * 20_000,
        ("render",),
        ("render", "--check"),
        kind="view",
    ),
)
