"""Documents that somebody may have damaged or written in bad faith: valid data, changed at random.

Everything follows from the `Random` that is handed in, so that a document is found again by its seed and number.
"""

from __future__ import annotations

import copy
from random import Random
from typing import Any

# Whatever shows these two somewhere has shown what nobody asked for: a value of the environment, and a file outside.
SECRET = "fz" + "Q8xk2Lm9vT4wR7pZc6"
CANARY = "canary-" + "5b1f0c77e2d94a38"

_WORDS = (
    "",
    " ",
    "x",
    "none",
    "null",
    "~",
    "true",
    "no",
    "0x1F",
    "1_000",
    "1:20:30",
    "1e400",
    "-1e999",
    ".inf",
    ".nan",
    "NaN",
    "2026-02-30",
    "2026-02-10T10:43:00+00:00",
    "0000-01-01",
    "9999-12-31T23:59:60Z",
    "10000-01-01T00:00:00+00:00",
    "2026-02-10T10:43:00+99:99",
    "MOE-000",
    "MOE-001",
    "MOE-002",
    "MOE-404",
    "OTHER-001",
    "moe-001",
    "MOE--1",
    "MOE-99999999999999999999",
    "../../outside/canary.txt",
    "../../X",
    "/abs/path/X",
    "a/b",
    ".",
    "..",
    "C:\\x",
    "-",
    "--help",
    "@/etc/hostname",
    "file:///etc/hostname",
    "https://github.com/acme/moe/issues/1",
    "http://[half",
    "javascript:alert(1)",
    "tflops",
    "quant_mode",
    "commit",
    "env:HOME",
    "quant_mode=int8",
    "1=1",
    "a=b=c",
    "=",
    "${HOME}",
    "$(touch X)",
    "`x`",
    "{{ 7 * 7 }}",
    "{% for x in range(9) %}",
    "{command}",
    "{0.__class__}",
    "%s%n",
    "@bob",
    "#1",
    "Fixes #1",
    "<script>",
    "<!-- logbook=x",
    "<!-- logbook:update 1 book=MOE.1 text=1 check=1 -->",
    "<!-- /logbook:entry -->",
    "-->",
    "<!--",
    "```",
    "````text",
    "~~~",
    "| a | b |\n|---|---|",
    "### MOE-009 forged",
    "> quote",
    "- item",
    "\\",
    "'",
    '"',
    "''",
    "#",
    "&a",
    "*a",
    "!!python/object/apply:os.system [true]",
    "!!binary aGk=",
    "!!set {a}",
    "<<",
    "? ",
    ": ",
    "[",
    "{",
    "]",
    "|",
    ">",
    "%",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "\x00",
    "\x1b[2J",
    "\x1b]0;x\x07",
    "\x7f",
    "\x85",
    "\x9b31m",
    "\u2028",
    "\u2029",
    "\ufeff",
    "\u202e",
    "\u2066",
    "\u200b",
    "e\u0301",
    "é",
    "表",
    "🙂",
    "\U0010ffff",
    "\ufffe",
    "\ud800",
    "\udcff",
    "x\udc80y",
    "a" * 300,
    "A" * 5_000,
    "9" * 5_000,
    "-" + "9" * 400,
    "a b " * 2_000,
    "word\n" * 500,
    "[" * 200,
    "[" * 5_000,
    "{" * 3_000,
    "(" * 3_000,
    "*" * 3_000,
    "> " * 1_000,
    "`" * 1_000,
    "<!--" * 500,
    "a=1 " * 3_000,
    "\\" * 1_000,
    "../" * 100,
    SECRET,
    f"--api-key {SECRET}",
    f"API_KEY={SECRET}",
    f"x{SECRET}",
    f"https://u:{SECRET}@h.example.org/x",
)
_NUMBERS = (
    0,
    1,
    -1,
    2,
    3,
    7,
    42,
    99,
    100,
    1_000,
    65_536,
    2**31 - 1,
    2**31,
    -(2**31),
    2**53 + 1,
    2**63,
    2**64,
    -(2**63),
    10**30,
    10**308,
    10**400,
    0.0,
    -0.0,
    0.1,
    1e-320,
    1e308,
    -1e308,
    1.7976931348623157e308,
    float("inf"),
    float("-inf"),
    float("nan"),
    253402300800,
    1e18,
    True,
    False,
)


def text(random: Random) -> str:
    """A text that is likely to be misread somewhere."""
    found = random.choice(_WORDS)
    while random.random() < 0.3:
        found = f"{found}{random.choice((' ', '', chr(10), ': ', ', '))}{random.choice(_WORDS)[:200]}"
    return found


def value(random: Random, depth: int = 0) -> Any:
    """Plain data of any kind."""
    kind = random.random()
    if kind < 0.45 or depth > 3:
        return text(random)
    if kind < 0.7:
        return random.choice(_NUMBERS)
    if kind < 0.78:
        return None
    if kind < 0.89:
        return [value(random, depth + 1) for _ in range(random.randrange(4))]
    if kind < 0.98:
        return {text(random): value(random, depth + 1) for _ in range(random.randrange(4))}
    return nested(random.choice((5, 20, 31, 33, 63, 65, 90)), random)


def nested(depth: int, random: Random) -> Any:
    """Lists and mappings, one in the other."""
    found: Any = "x"
    for _ in range(depth):
        found = [found] if random.random() < 0.5 else {"a": found}
    return found


def places(data: Any) -> list[tuple[Any, Any]]:
    """Each container below `data` with each of its keys."""
    found: list[tuple[Any, Any]] = []
    todo = [data]
    while todo:
        holder = todo.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            found.append((holder, key))
            todo.append(holder[key])
    return found


def changed(data: Any, others: Any, random: Random) -> Any:
    """A copy of plain data with a few changes; `others` lends values that fit elsewhere."""
    data = copy.deepcopy(data)
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 6))):
        if not (there := places(data)):
            return value(random)
        holder, key = random.choice(there)
        _change(holder, key, others, random)
    return data


def _change(holder: Any, key: Any, others: Any, random: Random) -> None:
    act = random.randrange(10)
    if act < 4:
        holder[key] = value(random)
    elif act == 4:
        holder[key] = _near(holder[key], random)
    elif act == 5:
        del holder[key]
    elif act == 6 and isinstance(holder, dict):
        holder[text(random)] = holder.pop(key)
    elif act == 7 and isinstance(holder, list):
        holder[key:key] = [copy.deepcopy(holder[key])] * random.choice((1, 2, 40))
    elif act == 8 and (lent := places(others)):
        giver, name = random.choice(lent)
        holder[name if isinstance(holder, dict) and isinstance(name, str) else key] = copy.deepcopy(giver[name])
    else:
        holder[key] = random.choice(([], {}, "", None, [holder[key]], {"a": holder[key]}, str(holder[key])))


def _near(found: Any, random: Random) -> Any:
    """A value of the same kind."""
    if isinstance(found, bool) or found is None:
        return not found
    if isinstance(found, int | float):
        return random.choice((-found, found + 1, found * 1_000, *_NUMBERS))
    if isinstance(found, str):
        at = random.randrange(len(found) + 1)
        return found[:at] + text(random) + found[at:]
    return [found] * 3


def edited(content: str, random: Random) -> str:
    """Text whose lines or words were moved, doubled, cut or replaced."""
    lines = content.split("\n")
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        at, to = random.randrange(len(lines)), random.randrange(len(lines))
        act = random.randrange(8)
        if act == 0:
            lines[at] = text(random)
        elif act == 1:
            lines.insert(at, text(random))
        elif act == 2 and len(lines) > 1:
            del lines[at]
        elif act == 3:
            lines.insert(to, lines[at])
        elif act == 4:
            lines[at] = lines[at].lstrip() if random.random() < 0.5 else " " * random.choice((1, 2, 4, 80)) + lines[at]
        elif act == 5:
            cut = random.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:cut] + text(random) + lines[at][cut:]
        elif act == 6:
            lines[at], lines[to] = lines[to], lines[at]
        else:
            lines[at:to] = lines[at:to][::-1] if random.random() < 0.5 else lines[at:to] * random.choice((2, 30))
        if len(lines) > 20_000:
            break
    return "\n".join(lines)


def damaged(data: bytes, random: Random) -> bytes:
    """Bytes with a few changes that know nothing of any format."""
    found = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4, 16))):
        at = random.randrange(len(found) + 1)
        act = random.randrange(9)
        if act == 0 and at < len(found):
            found[at] ^= 1 << random.randrange(8)
        elif act == 1:
            found[at:at] = bytes([random.randrange(256)])
        elif act == 2:
            del found[at : at + random.choice((1, 1, 2, 8, 64))]
        elif act == 3:
            found[at:at] = text(random).encode("utf-8", "surrogatepass")
        elif act == 4:
            del found[at:]
        elif act == 5:
            other = random.randrange(len(found) + 1)
            found[at:at] = found[other : other + random.choice((4, 40, 400))]
        elif act == 6:
            found[at:at] = random.choice(
                (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00", b"\xef\xbb\xbf", b"\r\n", b"\xf4\x90\x80\x80")
            )
        elif act == 7:
            found[at:at] = random.choice((b"[", b"{", b"(", b"- ", b"? ", b"\t", b" ", b"&a ", b"*a ")) * random.choice(
                (1, 70, 3_000, 5_000)
            )
        else:
            found[:] = found.replace(b"\n", b"\r\n") if random.random() < 0.5 else b"\xef\xbb\xbf" + found
    return bytes(found[: 2**20])
