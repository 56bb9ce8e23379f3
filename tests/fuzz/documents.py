"""One document after another, each made from its seed and number alone: where it lies, and which commands then run."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import yaml

from tests.fuzz import mutations
from tests.fuzz.mutations import changed, damaged, edited, text

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A symbolic link. `{top}` is the folder around everything."""

    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipe:
    """A named pipe, which nobody writes to."""


Content = bytes | Link | Pipe


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """`path` lies below the folder around everything; None: it is handed to a parser or a server alone.

    `name`: what a report of damage has to mention, where it may be one of several records.
    """

    kind: str
    path: str | None
    content: Content
    commands: tuple[Words, ...] = ()
    name: str | None = None


# What the generators start from: files of a store that the tool itself has written, by their path.
Base = Mapping[str, bytes]
Make = Callable[[Base, Random], Document]

BOOK = "work/logbooks/moe"
VIEW = "work/logbooks/moe.md"
_IDS = ("MOE-000", "MOE-001", "MOE-002", "MOE-003", "MOE-004")

# By weight: those that render or start processes take ten times as long as the others.
_READING: tuple[tuple[int, Words], ...] = (
    (6, ("show", "MOE-002")),
    (4, ("show", "MOE-001", "--json")),
    (2, ("show", "MOE-002", "--full", "--json")),
    (6, ("status",)),
    (4, ("status", "--json")),
    (3, ("list",)),
    (4, ("search", "int8")),
    (3, ("search", "x", "--json")),
    (4, ("table", "MOE-002")),
    (2, ("table", "MOE-002", "--pivot", "quant_mode", "--delta", "--json")),
    (2, ("table", "MOE-002", "--csv")),
    (3, ("compare", "MOE-002", "--axis", "quant_mode")),
    (2, ("compare", "MOE-002", "--axis", "quant_mode", "--json")),
    (2, ("compare", "--baseline", "MOE-002")),
    (3, ("criteria",)),
    (2, ("criteria", "--json")),
    (3, ("tried",)),
    (2, ("tried", "--json")),
    (3, ("baseline",)),
    (2, ("baseline", "--json")),
)  # fmt: skip
_CHANGING: tuple[tuple[int, Words], ...] = (
    (4, ("note", "--title", "n")),
    (4, ("edit", "MOE-002", "--title", "t")),
    (3, ("edit", "MOE-001", "--hypothesis", "h", "--append")),
    (2, ("plan", "--title", "p", "--command", "true")),
    (2, ("summary", "s")),
    (3, ("absorb",)),
    (1, ("render",)),
    (1, ("doctor", "--json")),
    (1, ("doctor", "--fix")),
    (1, ("sync", "--offline", "{top}/out")),
    (1, ("migrate",)),
    (1, ("prune", "--dry-run")),
)  # fmt: skip


def _commands(random: Random, count: int, *pools: tuple[tuple[int, Words], ...]) -> tuple[Words, ...]:
    there = [row for pool in pools for row in pool]
    return tuple(random.choices([words for _, words in there], [weight for weight, _ in there], k=count))


def _store_commands(random: Random) -> tuple[Words, ...]:
    """Always the list, which has to name what is damaged and show the rest."""
    pools = (_READING,) if random.random() < 0.7 else (_CHANGING,)
    return (("list", "--json"), *_commands(random, 1, *pools))


# -- forms -------------------------------------------------------------------------------------------

_YAML_LINES = (
    "a: &a [x, *a]", "<<: {title: y}", "title: !!binary aGk=", "state: !!python/name:os.system ''", "title: z", "? [a, b]\n: c",
    "a: &a x\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b]\nd: [*c,*c,*c]", "%YAML 1.3\n---", "---\nid: MOE-001", "...", "\tid: x",
    "title: |\n  a\n   b\n c", "opened: 2026-02-10", "opened: 10:43", "state: yes", "format: 0x2", "format: 2", "format: 0", "1: 2",
    "null: x", "[a]: b", "{a: b}: c", "&x title: a", "<<: *x", "title: >-\n\n", "fields: {}", "confidence: 1e5", "id: !!int MOE",
)  # fmt: skip


def _as_yaml(data: Any, random: Random) -> bytes:
    act = random.random()
    if act < 0.1:
        content = _as_json(data, random).decode("utf-8", "surrogatepass")
    else:
        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        flow = random.choice((False, False, False, None, True))
        try:
            content = yaml.dump(data, Dumper=dumper, sort_keys=False, allow_unicode=random.random() < 0.5, default_flow_style=flow)
        except UnicodeEncodeError:  # half of a character, which JSON can write
            return _as_json(data, random)
    if act > 0.85:
        lines = content.split("\n")
        lines.insert(random.randrange(len(lines)), random.choice(_YAML_LINES))
        content = "\n".join(lines)
    return content.encode("utf-8", "surrogatepass")


def _as_json(data: Any, random: Random) -> bytes:
    try:
        return json.dumps(data, ensure_ascii=random.random() < 0.5, indent=random.choice((None, 1))).encode("utf-8", "surrogatepass")
    except ValueError:  # an integer of more digits than Python prints
        return b'{"format": ' + b"9" * 5_000 + b"}"


def _as_toml(table: Any) -> bytes:
    """Each setting as a line; tables in one line as well."""
    if not isinstance(table, dict):
        return _toml(table).encode("utf-8", "surrogatepass")
    return "".join(f"{_toml(str(k))} = {_toml(v)}\n" for k, v in table.items()).encode("utf-8", "surrogatepass")


def _toml(found: Any) -> str:
    if isinstance(found, bool) or found is None:
        return str(bool(found)).lower()
    if isinstance(found, float) and not math.isfinite(found):
        return str(found)
    if isinstance(found, int | float):
        return repr(found)
    if isinstance(found, dict):
        return "{" + ", ".join(f"{_toml(str(k))} = {_toml(v)}" for k, v in found.items()) + "}"
    if isinstance(found, list | tuple):
        return "[" + ", ".join(map(_toml, found)) + "]"
    return json.dumps(str(found), ensure_ascii=False).replace("\x7f", "\\u007f")


def _varied(plain: Any, others: Any, data: bytes, write: Callable[[Any], bytes], random: Random) -> bytes:
    """Changed as data, as lines of text, or as bytes."""
    act = random.random()
    if act < 0.6:
        return write(changed(plain, others, random))
    if act < 0.8:
        return edited(data.decode(), random).encode("utf-8", "surrogatepass")
    return damaged(data, random)


# -- kinds -------------------------------------------------------------------------------------------


@functools.cache
def _plain(data: bytes) -> Any:
    """The data of one of the few sound files; `changed` copies what it changes."""
    return yaml.load(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506


def _entry(base: Base, random: Random) -> Document:
    entry_id = random.choice(_IDS)
    path = f"{BOOK}/entries/{entry_id}.yaml"
    other = _plain(base[f"{BOOK}/entries/{random.choice(_IDS)}.yaml"])
    plain = _plain(base[path])
    if random.random() < 0.4:
        plain = {**RICH_ENTRY, "id": entry_id}
    data = _varied(plain, other | RICH_ENTRY, base[path], lambda found: _as_yaml(found, random), random)
    return Document(kind="entry", path=path, content=data, commands=_store_commands(random), name=entry_id)


def _run(base: Base, random: Random) -> Document:
    path = random.choice([p for p in base if p.endswith("run.json")])
    plain, other = _plain(base[path]), _plain(random.choice([base[p] for p in base if p.endswith("run.json")]))
    data = _varied(plain, other, base[path], lambda found: _as_json(found, random), random)
    return Document(kind="run", path=path, content=data, commands=_store_commands(random), name=path.split("/")[-3])


def _header(base: Base, random: Random) -> Document:
    path = f"{BOOK}/logbook.yaml"
    plain = _plain(base[path]) | (RICH_HEADER if random.random() < 0.5 else {})
    data = _varied(plain, RICH_HEADER, base[path], lambda found: _as_yaml(found, random), random)
    other = ("-L", "other", "list", "--json")
    return Document(kind="header", path=path, content=data, commands=(("list", "--json", "-L", "moe"), *_commands(random, 1, _READING, _CHANGING), other))


def _settings(base: Base, random: Random) -> Document:
    data = _varied(SETTINGS, SETTINGS, _as_toml(SETTINGS), _as_toml, random)
    some = (*_commands(random, 1, _READING, _CHANGING), ("run", "--on", "tpu", "--json", "--", "true") if random.random() < 0.02 else ("link",))
    path = "work/logbook.toml" if random.random() < 0.9 else "work/pyproject.toml"
    return Document(kind="settings", path=path, content=data, commands=some)


def _user(base: Base, random: Random) -> Document:
    table = {"confirmed_hosts": ["ghe.example.org", "127.0.0.1:8000"]}
    data = _varied(table, SETTINGS, _as_toml(table), _as_toml, random)
    host = random.choice(("h.example.org", text(random).replace("\0", "") or "x"))
    some = (("link",), ("link", "--confirm-host", host), ("link", "--forget-host", "ghe.example.org", "--json"), ("sync", "--dry-run"))
    return Document(kind="user", path="config/logbook-agent/config.toml", content=data, commands=(random.choice(some),))


def _recipe(base: Base, random: Random) -> Document:
    path = random.choice([p for p in base if p.startswith("recipes/")])
    plain = _plain(base[path])
    data = _varied(plain, plain, base[path], lambda found: _as_yaml(found, random), random)
    some = (
        ("sweep", "recipes/fuzz.yaml", "--dry-run"),
        ("sweep", "recipes/fuzz.yaml", "--dry-run", "--scale", "tiny", "--json"),
        ("sweep", "--json"),
        ("criteria", "--recipe", "fuzz"),
        ("start", "--from", "recipes/fuzz.yaml"),
    )
    return Document(kind="recipe", path="work/recipes/fuzz.yaml", content=data, commands=(random.choice(some),))


def _view(base: Base, random: Random) -> Document:
    data = base[VIEW]
    data = edited(data.decode(), random).encode("utf-8", "surrogatepass") if random.random() < 0.75 else damaged(data, random)
    some: tuple[tuple[int, Words], ...] = (
        (8, ("absorb",)),
        (4, ("absorb", "--dry-run", "--json")),
        (3, ("note", "--title", "n")),
        (3, ("edit", "MOE-002", "--next", "x")),
        (4, ("status",)),
        (1, ("render",)),
        (1, ("render", "--discard-edits")),
        (1, ("doctor",)),
        (1, ("doctor", "--fix", "--json")),
    )
    return Document(kind="view", path=VIEW, content=data, commands=_commands(random, 2, some))


def _other_file(base: Base, random: Random) -> Document:
    """Reservations, markers, the index, ignored and odd files: what no one edits."""
    path = random.choice(
        (
            "work/logbooks/.ids/MOE/MOE-005", "work/logbooks/.ids/MOE/" + _file_name(random), f"{BOOK}/open/MOE-003.01",
            f"{BOOK}/open/MOE-404.99999999999999999999", f"{BOOK}/open/" + _file_name(random), f"{BOOK}/.index.sqlite",
            f"{BOOK}/.index.sqlite", f"{BOOK}/entries/" + _file_name(random), f"{BOOK}/entries/{_file_name(random)}.yaml",
            f"{BOOK}/runs/MOE-002/{_file_name(random)}/run.json", f"{BOOK}/runs/{_file_name(random)}/01/run.json",
            f"{BOOK}/runs/MOE-002/01/output.log", f"{BOOK}/backups/{_file_name(random)}", "work/logbooks/.gitignore",
            "work/logbooks/" + _file_name(random), f"work/logbooks/{_file_name(random)}/logbook.yaml",
        )
    )  # fmt: skip
    near = random.choice([base[p] for p in base if p.rsplit(".", 1)[-1] in ("yaml", "json", "sqlite")])
    content = damaged(near, random) if random.random() < 0.5 else text(random).encode("utf-8", "surrogatepass")
    if path.endswith("MOE-005"):
        content = _as_json(changed({"host": "h", "pid": 1, "started": 1.5, "root": "/x", "at": "2026-02-10"}, {}, random), random)
    if path.endswith("sqlite") and path in base:
        content = damaged(base[path], random)
    return Document(kind="other", path=path, content=content, commands=(("list", "--json", "-L", "moe"), *_commands(random, 1, _READING, _CHANGING)))


def _file_name(random: Random) -> str:
    name = text(random).replace("/", "_").replace("\0", "_").encode("utf-8", "surrogatepass")[:200]
    found = name.decode("utf-8", "surrogateescape")
    return found if found not in ("", ".", "..") else "x"


def _special(base: Base, random: Random) -> Document:
    """A link or a pipe where a file or a folder should be."""
    path = random.choice(
        [p for p in base if p.startswith("work/")]
        + ["work/logbook.toml", "work/pyproject.toml", "work/recipes/fuzz.yaml", f"{BOOK}/entries", f"{BOOK}/runs", f"{BOOK}/open", f"{BOOK}/backups"]
        + ["work/logbooks/.ids", f"{BOOK}/runs/MOE-002", f"{BOOK}/runs/MOE-002/01", f"{BOOK}/.lock", "work/templates", "config/logbook-agent/config.toml"]
    )
    targets = ("/dev/zero", "/dev/null", "{top}/outside/canary.txt", "{top}/outside", "../../outside/canary.txt", "nowhere", path.rsplit("/", 1)[-1], "/")
    content: Content = Pipe() if random.random() < 0.25 else Link(to=random.choice(targets))
    recipe = ("sweep", "recipes/fuzz.yaml", "--dry-run")
    some = (*_commands(random, 2, _READING, _CHANGING), recipe if "recipes" in path else ("list",))
    return Document(kind="special", path=path, content=content, commands=some)


def _template(base: Base, random: Random) -> Document:
    path = random.choice([p for p in base if p.startswith("templates/")])
    data = base[path].decode()
    extra = random.choice(_TEMPLATE_PARTS)
    data = f"{data}{extra}" if random.random() < 0.6 else edited(data, random)
    content = data.encode("utf-8", "surrogatepass") if random.random() < 0.8 else damaged(data.encode("utf-8", "surrogatepass"), random)
    some = (("render",), ("note", "--title", "n"), ("sync", "--offline", "{top}/out"), ("show", "MOE-002"))
    return Document(kind="template", path=f"work/{path}", content=content, commands=(random.choice(some),))


_TEMPLATE_PARTS = (
    "{{ 'a' * 10**10 }}", "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}", "{{ ''.__class__ }}",
    "{% include '/etc/hostname' %}", "{% include '../../outside/canary.txt' %}", "{{ 9**9**9 }}", "{{ [[]] * 10**9 }}", "{% import 'x' as y %}",
    "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", "{{ 'x'.join(['y'] * 10**8) }}", "{{ '%999999999d' % 1 }}", "{{ self }}", "{% set x = x %}",
    "{{ lipsum(10**9) }}", "{{ cycler.__init__.__globals__ }}", "{{ ('a' * 99999) | center(10**10) }}", "{{ '{:>9999999999}'.format(1) }}", "{{",
)  # fmt: skip


def _result_lines(base: Base, random: Random) -> Document:
    lines = [line for line in RESULT_LINES if random.random() < 0.5] or list(RESULT_LINES)
    for _ in range(random.choice((0, 1, 3))):
        row = _as_json(changed(RESULT_ROW, RESULT_ROW, random), random).decode("utf-8", "surrogatepass").replace("\n", "")
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
        content = _as_json(changed(state, state, random), random)
    elif act < 0.85:
        one = random.choice([state["issue"], *state["comments"]])
        one["body"] = edited(one["body"], random)
        content = _as_json(state, random)
    else:
        content = damaged(_as_json(state, random), random)
    some = (("sync",), ("sync", "--json"), ("sync", "--dry-run", "--full"), ("close", "--conclusion", "c", "--dry-run"))
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
    random = Random(f"{seed}:{number}")  # noqa: S311
    for_commands = number % commands_every == 0
    kinds = WITH_PROCESSES if for_commands else KINDS
    make = random.choices([m for _, m in kinds], [w for w, _ in kinds])[0]
    found = make(base, random)
    return found if for_commands else replace(found, commands=())


RICH_ENTRY: dict[str, Any] = {
    "format": 1, "id": "MOE-000", "title": "A title", "opened": "2026-02-10T10:57:00+00:00", "kind": "experiment", "state": "blocked",
    "confidence": "stable", "continues": "MOE-000", "supersedes": "MOE-001", "completes": "MOE-000", "aliases": ["MOE-900"],
    "commands": [{"label": "Baseline", "argv": ["bench", "--api-key", mutations.SECRET]}],
    "fields": [{"label": "Hypothesis", "text": "a\nb"}, {"label": "Result", "text": "```\nx\n```"}],
    "comparisons": [{"references": ["MOE-002"], "axis": "quant_mode", "metrics": ["tflops"]}],
}  # fmt: skip
RICH_HEADER: dict[str, Any] = {
    "zone": "Europe/Berlin", "scope": ["a", "b"], "goal": f"find out {mutations.SECRET}",
    "issue": {"url": "https://github.com/acme/moe/issues/1"}, "links": [{"label": "Prior", "url": "https://github.com/acme/moe/issues/2"}],
    "stop_criteria": [
        {"text": "a", "predicate": {"sweep": {"axis": "topk", "values": [1, 2], "where": {"quant_mode": "int8"}, "controls": {"quant_mode": "none"}}}},
        {"text": "b", "predicate": {"verdict": {"axis": "quant_mode", "values": ["none", "int8"], "metric": "tflops"}}},
        {"text": "c", "predicate": {"all": [{"compared": {"axis": "quant_mode", "values": ["none", "int8"]}}]}},
    ],
}  # fmt: skip
SETTINGS: dict[str, Any] = {
    "root": "logbooks", "logbook": "moe", "templates": "templates", "zone": "UTC", "require": ["title"], "env": ["NCCL_*", "XLA_FLAGS"],
    "secrets": ["MY_PIN"], "secret_rules": [{"id": "acme-token", "regex": "acme_([a-z0-9]{32})", "keywords": ["acme_"], "secretGroup": 1, "entropy": 3.5}],
    "packages": ["numpy"], "launchers": {"tpu": {"template": "env {env} {command}", "env_template": "{key}={value}", "target": "t"}},
    "log_bytes": 1000000, "logbook_bytes": 10000000,
    "github": {"repository": "acme/moe", "host": "https://ghe.example.org", "api": "https://ghe.example.org/api/v3", "remote": "origin",
               "labels": ["experiment"], "pause_s": 0, "timeout_s": 1},
}  # fmt: skip
RESULT_ROW: dict[str, Any] = {
    "config": {"quant_mode": "none", "topk": 2, "api_key": mutations.SECRET}, "metrics": {"tflops": {"samples": [1.5, 1.6], "unit": "TF/s"}, "ms": 3.5},
    "observations": {"null_realized": 0.1}, "labels": {"a": "b"}, "devices": [{"platform": "cpu", "kind": "x", "count": 1}],
}  # fmt: skip
RESULT_LINES = (
    "RESULT quant_mode=none topk=2 tflops=119.5 note='two words'", "(pid=1, ip=10.0.0.1) RESULT quant_mode=int8 tflops=1e3", "METRIC tflops=12.5 TF/s",
    "METRIC loss=nan", "RESULT", "RESULT a=b a=c", "RESULT tflops=1_0", f"RESULT password={mutations.SECRET} tflops=1", "METRIC x=1 " + "u" * 300, "plain",
)  # fmt: skip
