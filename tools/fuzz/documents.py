"""One document after another, each made from its seed and number alone: where it lies, and which commands then run."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

import yaml

from tools.fuzz.forms import as_json, as_toml, as_yaml, varied
from tools.fuzz.known import KNOWN
from tools.fuzz.mutations import changed, damaged, edited, text
from tools.fuzz.samples import RECIPE, RESULT_LINES, RESULT_ROW, RICH_ENTRY, RICH_HEADER, SETTINGS, USER_SETTINGS
from tools.fuzz.values import BOOK, ENTRIES, RUN, VIEW, Content, Document, Link, Pipe, Words

# What the generators start from: files of a store that the tool itself has written, by their path.
Base = Mapping[str, bytes]
Make = Callable[[Base, Random], Document]


# By weight: those that render or start processes take ten times as long as the others.
_READING: tuple[tuple[int, Words], ...] = (
    (6, ("show", "MOE-002")),
    (4, ("show", "MOE-001", "--json")),
    (2, ("show", "MOE-002", "--full", "--json")),
    (6, ("status",)),
    (4, ("status", "--json")),
    (3, ("list",)),
    (4, ("list", "int8")),
    (3, ("list", "x", "--json")),
    (4, ("table", "MOE-002")),
    (2, ("table", "MOE-002", "--pivot", "quant_mode", "--delta", "--json")),
    (2, ("table", "MOE-002", "--csv")),
    (3, ("compare", "MOE-002", "--axis", "quant_mode")),
    (2, ("compare", "MOE-002", "--axis", "quant_mode", "--json")),
    (2, ("compare", "--baseline", "MOE-002")),
    (3, ("criteria",)),
    (2, ("criteria", "--json")),
    (
        3,
        (
            "list",
            "--tried",
        ),
    ),
    (2, ("list", "--tried", "--json")),
    (3, ("baseline",)),
    (2, ("baseline", "--json")),
)
_CHANGING: tuple[tuple[int, Words], ...] = (
    (4, ("note", "--title", "n")),
    (4, ("edit", "MOE-002", "--title", "t")),
    (3, ("edit", "MOE-001", "--hypothesis", "h", "--append")),
    (2, ("note", "--plan", "--title", "p", "--command", "true")),
    (2, ("status", "--summary", "s")),
    (3, ("render",)),
    (1, ("render", "--check")),
    (1, ("doctor", "--json")),
    (1, ("doctor", "--fix")),
    (1, ("sync", "--offline", "{top}/out")),
)


def _commands(random: Random, count: int, *pools: tuple[tuple[int, Words], ...]) -> tuple[Words, ...]:
    there = [row for pool in pools for row in pool]
    return tuple(random.choices([words for _, words in there], [weight for weight, _ in there], k=count))


def _store_commands(random: Random) -> tuple[Words, ...]:
    """Always the list, which has to name what is damaged and show the rest."""
    pools = (_READING,) if random.random() < 0.7 else (_CHANGING,)
    return (("list", "--json"), *_commands(random, 1, *pools))


# -- kinds -------------------------------------------------------------------------------------------


@functools.cache
def _plain(data: bytes) -> Any:
    """The data of one of the few sound files; `changed` copies what it changes."""
    return yaml.load(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506


def _entry(base: Base, random: Random) -> Document:
    entry_id = random.choice([*ENTRIES])
    path = f"{BOOK}/entries/{ENTRIES[entry_id]}.yaml"
    other = _plain(base[f"{BOOK}/entries/{random.choice([*ENTRIES.values()])}.yaml"])
    plain = _plain(base[path])
    if random.random() < 0.4:
        plain = dict(RICH_ENTRY)
    data = varied(plain, other | RICH_ENTRY, base[path], lambda found: as_yaml(found, random), random)
    return Document(kind="entry", path=path, content=data, commands=_store_commands(random), name=entry_id)


def _run(base: Base, random: Random) -> Document:
    path = random.choice([p for p in base if p.endswith("run.json")])
    plain, other = _plain(base[path]), _plain(random.choice([base[p] for p in base if p.endswith("run.json")]))
    data = varied(plain, other, base[path], lambda found: as_json(found, random), random)
    return Document(
        kind="run",
        path=path,
        content=data,
        commands=_store_commands(random),
        name=path.split("/")[-3].partition(".")[0],
    )


def _header(base: Base, random: Random) -> Document:
    path = f"{BOOK}/logbook.yaml"
    plain = _plain(base[path]) | (RICH_HEADER if random.random() < 0.5 else {})
    data = varied(plain, RICH_HEADER, base[path], lambda found: as_yaml(found, random), random)
    other = ("-L", "other", "list", "--json")
    return Document(
        kind="header",
        path=path,
        content=data,
        commands=(("list", "--json", "-L", "moe"), *_commands(random, 1, _READING, _CHANGING), other),
    )


def _settings(base: Base, random: Random) -> Document:
    data = varied(SETTINGS, SETTINGS, as_toml(SETTINGS), as_toml, random)
    some = (*_commands(random, 1, _READING, _CHANGING), ("status",))
    path = "work/logbook.toml" if random.random() < 0.9 else "work/pyproject.toml"
    return Document(kind="settings", path=path, content=data, commands=some)


def _user(base: Base, random: Random) -> Document:
    data = varied(USER_SETTINGS, USER_SETTINGS, as_toml(USER_SETTINGS), as_toml, random)
    some = (
        ("run", "--on", "tpu", "--json", "--", "true") if random.random() < 0.02 else ("executors",),
        ("sync", "--dry-run"),
    )
    return Document(kind="user", path="config/logbook-agent/config.toml", content=data, commands=(random.choice(some),))


def _recipe(base: Base, random: Random) -> Document:
    path = random.choice([p for p in base if p.startswith("recipes/")])
    plain = _plain(base[path])
    if random.random() < 0.4:
        plain = RECIPE
    data = varied(plain, RECIPE, base[path], lambda found: as_yaml(found, random), random)
    some = (
        ("sweep", "recipes/fuzz.yaml", "--dry-run"),
        ("sweep", "recipes/fuzz.yaml", "--dry-run", "--scale", "tiny", "--json"),
        ("sweep", "--json"),
        ("start", "--from", "recipes/fuzz.yaml"),
    )
    return Document(kind="recipe", path="work/recipes/fuzz.yaml", content=data, commands=(random.choice(some),))


def _view(base: Base, random: Random) -> Document:
    data = base[VIEW]
    data = (
        edited(data.decode(), random).encode("utf-8", "surrogatepass")
        if random.random() < 0.75
        else damaged(data, random)
    )
    some: tuple[tuple[int, Words], ...] = (
        (4, ("render",)),
        (4, ("render", "--check", "--json")),
        (3, ("note", "--title", "n")),
        (3, ("edit", "MOE-002", "--next", "x")),
        (4, ("status",)),
        (1, ("doctor",)),
        (1, ("doctor", "--fix", "--json")),
    )
    return Document(kind="view", path=VIEW, content=data, commands=_commands(random, 2, some))


def _other_file(base: Base, random: Random) -> Document:
    """Reservations, markers, ignored and odd files: what no one edits."""
    path = random.choice(
        (
            "work/logbooks/.ids/MOE/MOE-005",
            "work/logbooks/.ids/MOE/" + _file_name(random),
            f"{BOOK}/open/MOE-003.01",
            f"{BOOK}/open/MOE-404.99999999999999999999",
            f"{BOOK}/open/" + _file_name(random),
            f"{BOOK}/entries/" + _file_name(random),
            f"{BOOK}/entries/{_file_name(random)}.yaml",
            f"{BOOK}/runs/{ENTRIES['MOE-002']}/{_file_name(random)}/run.json",
            f"{BOOK}/runs/{_file_name(random)}/01/run.json",
            f"{RUN}/output.log",
            f"{BOOK}/backups/{_file_name(random)}",
            "work/logbooks/.gitignore",
            "work/logbooks/" + _file_name(random),
            f"work/logbooks/{_file_name(random)}/logbook.yaml",
        )
    )
    near = random.choice([base[p] for p in base if p.rsplit(".", 1)[-1] in ("yaml", "json")])
    content = damaged(near, random) if random.random() < 0.5 else text(random).encode("utf-8", "surrogatepass")
    if path.endswith("MOE-005"):
        content = as_json(
            changed({"host": "h", "pid": 1, "started": 1.5, "root": "/x", "at": "2026-02-10"}, {}, random), random
        )
    return Document(
        kind="other",
        path=path,
        content=content,
        commands=(("list", "--json", "-L", "moe"), *_commands(random, 1, _READING, _CHANGING)),
    )


def _file_name(random: Random) -> str:
    name = text(random).replace("/", "_").replace("\0", "_").encode("utf-8", "surrogatepass")[:200]
    found = name.decode("utf-8", "surrogateescape")
    return found if found not in ("", ".", "..") else "x"


def _special(base: Base, random: Random) -> Document:
    """A link or a pipe where a file or a folder should be."""
    path = random.choice(
        [p for p in base if p.startswith("work/")]
        + [
            "work/logbook.toml",
            "work/pyproject.toml",
            "work/recipes/fuzz.yaml",
            f"{BOOK}/entries",
            f"{BOOK}/runs",
            f"{BOOK}/open",
            f"{BOOK}/backups",
        ]
        + [
            "work/logbooks/.ids",
            f"{BOOK}/runs/{ENTRIES['MOE-002']}",
            RUN,
            f"{BOOK}/.lock",
            "work/templates",
            "config/logbook-agent/config.toml",
        ]
    )
    targets = (
        "/dev/zero",
        "/dev/null",
        "{top}/outside/canary.txt",
        "{top}/outside",
        "../../outside/canary.txt",
        "nowhere",
        path.rsplit("/", 1)[-1],
        "/",
    )
    content: Content = Pipe() if random.random() < 0.25 else Link(to=random.choice(targets))
    recipe = ("sweep", "recipes/fuzz.yaml", "--dry-run")
    some = (*_commands(random, 2, _READING, _CHANGING), recipe if "recipes" in path else ("list",))
    return Document(kind="special", path=path, content=content, commands=some)


def _template(base: Base, random: Random) -> Document:
    path = random.choice([p for p in base if p.startswith("templates/")])
    data = base[path].decode()
    extra = random.choice(_TEMPLATE_PARTS)
    data = f"{data}{extra}" if random.random() < 0.6 else edited(data, random)
    content = (
        data.encode("utf-8", "surrogatepass")
        if random.random() < 0.8
        else damaged(data.encode("utf-8", "surrogatepass"), random)
    )
    some = (("render",), ("note", "--title", "n"), ("sync", "--offline", "{top}/out"), ("show", "MOE-002"))
    return Document(kind="template", path=f"work/{path}", content=content, commands=(random.choice(some),))


_TEMPLATE_PARTS = (
    "{{ 'a' * 10**10 }}",
    "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
    "{{ ''.__class__ }}",
    "{% include '/etc/hostname' %}",
    "{% include '../../outside/canary.txt' %}",
    "{{ 9**9**9 }}",
    "{{ [[]] * 10**9 }}",
    "{% import 'x' as y %}",
    "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}",
    "{{ 'x'.join(['y'] * 10**8) }}",
    "{{ '%999999999d' % 1 }}",
    "{{ self }}",
    "{% set x = x %}",
    "{{ lipsum(10**9) }}",
    "{{ cycler.__init__.__globals__ }}",
    "{{ ('a' * 99999) | center(10**10) }}",
    "{{ '{:>9999999999}'.format(1) }}",
    "{{",
)


def _result_lines(base: Base, random: Random) -> Document:
    lines = [line for line in RESULT_LINES if random.random() < 0.5] or list(RESULT_LINES)
    for _ in range(random.choice((0, 1, 3))):
        plain = as_json(changed(RESULT_ROW, RESULT_ROW, random), random)
        row = plain.decode("utf-8", "surrogatepass").replace("\n", "")
        lines.append(random.choice(("RESULT_JSON ", "(pid=1) RESULT_JSON ", "")) + row)
    content = edited("\n".join(lines), random).encode("utf-8", "surrogatepass")
    if random.random() < 0.3:
        content = damaged(content, random)
    return Document(kind="results", path=None, content=content)


def _output(base: Base, random: Random) -> Document:
    """The same, printed by a command or left in its result file."""
    inner = ("cat", "doc.txt") if random.random() < 0.5 else ("sh", "-c", 'cp doc.txt "$LOGBOOK_RESULT_FILE"')
    words = ("run", *random.choice(((), ("--json",))), "--", *inner)
    return replace(_result_lines(base, random), kind="output", path="work/doc.txt", commands=(words,))


def _github(base: Base, random: Random) -> Document:
    """What a host holds, as its own JSON; the server of the harness serves it."""
    state = json.loads(base["github.json"])
    act = random.random()
    if act < 0.45:
        content = as_json(changed(state, state, random), random)
    elif act < 0.85:
        one = random.choice([state["issue"], *state["comments"]])
        one["body"] = edited(one["body"], random)
        content = as_json(state, random)
    else:
        content = damaged(as_json(state, random), random)
    some = (("sync",), ("sync", "--json"), ("sync", "--dry-run"), ("close", "--conclusion", "c", "--dry-run"))
    return Document(kind="github", path=None, content=content, commands=(random.choice(some),))


# By weight.
KINDS: tuple[tuple[int, Make], ...] = (
    (22, _entry),
    (16, _run),
    (8, _header),
    (10, _settings),
    (4, _user),
    (8, _recipe),
    (8, _view),
    (4, _other_file),
    (2, _special),
    (14, _result_lines),
    (4, _github),
)
# These start processes.
WITH_PROCESSES: tuple[tuple[int, Make], ...] = (*KINDS, (2, _template), (2, _output))


def document(base: Base, seed: int, number: int, commands_every: int = 10) -> Document:
    """The document of this number: for commands, or in between for the readers alone, which are many times as quick."""
    if number < len(KNOWN):
        return KNOWN[number]
    random = Random(f"{seed}:{number}")
    for_commands = number % commands_every == 0
    kinds = WITH_PROCESSES if for_commands else KINDS
    make = random.choices([m for _, m in kinds], [w for w, _ in kinds])[0]
    found = make(base, random)
    return found if for_commands else replace(found, commands=())
