"""Plain data as YAML, JSON and TOML, with what only somebody who means harm would write."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from random import Random
from typing import Any

import yaml

from tools.fuzz.mutations import changed, damaged, edited

_YAML_LINES = (
    "a: &a [x, *a]",
    "<<: {title: y}",
    "title: !!binary aGk=",
    "state: !!python/name:os.system ''",
    "title: z",
    "? [a, b]\n: c",
    "a: &a x\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b]\nd: [*c,*c,*c]",
    "%YAML 1.3\n---",
    "---\nid: MOE-001",
    "...",
    "\tid: x",
    "title: |\n  a\n   b\n c",
    "opened: 2026-02-10",
    "opened: 10:43",
    "state: yes",
    "format: 0x2",
    "format: 2",
    "format: 0",
    "1: 2",
    "null: x",
    "[a]: b",
    "{a: b}: c",
    "&x title: a",
    "<<: *x",
    "title: >-\n\n",
    "fields: {}",
    "confidence: 1e5",
    "id: !!int MOE",
)


def as_yaml(data: Any, random: Random) -> bytes:
    act = random.random()
    if act < 0.1:
        content = as_json(data, random).decode("utf-8", "surrogatepass")
    else:
        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        flow = random.choice((False, False, False, None, True))
        try:
            content = yaml.dump(
                data, Dumper=dumper, sort_keys=False, allow_unicode=random.random() < 0.5, default_flow_style=flow
            )
        except UnicodeEncodeError:  # half of a character, which JSON can write
            return as_json(data, random)
    if act > 0.85:
        lines = content.split("\n")
        lines.insert(random.randrange(len(lines)), random.choice(_YAML_LINES))
        content = "\n".join(lines)
    return content.encode("utf-8", "surrogatepass")


def as_json(data: Any, random: Random) -> bytes:
    try:
        return json.dumps(data, ensure_ascii=random.random() < 0.5, indent=random.choice((None, 1))).encode(
            "utf-8", "surrogatepass"
        )
    except ValueError:  # an integer of more digits than Python prints
        return b'{"format": ' + b"9" * 5_000 + b"}"


def as_toml(table: Any) -> bytes:
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


def varied(plain: Any, others: Any, data: bytes, write: Callable[[Any], bytes], random: Random) -> bytes:
    """Changed as data, as lines of text, or as bytes."""
    act = random.random()
    if act < 0.6:
        return write(changed(plain, others, random))
    if act < 0.8:
        return edited(data.decode(), random).encode("utf-8", "surrogatepass")
    return damaged(data, random)
