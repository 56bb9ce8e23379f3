"""What a comparison asks, by which the same question is known in another entry; and what its pairs share: the command,
the environment, the devices and the code, by which pairs that were made under other conditions are told apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import structs

from logbook_agent.findings.cases import facts_of
from logbook_agent.findings.tables.frame import devices_text
from logbook_agent.model.code import CHECKOUT
from logbook_agent.model.codec import encode
from logbook_agent.model.comparison import CODE_AXIS, Comparison, Question
from logbook_agent.model.record import digest
from logbook_agent.model.run import Row, Run
from logbook_agent.text.commands.flags import ANY

_ENV, _PACKAGE = "env:", "package:"


def asks(stated: Comparison, bases: Sequence[Run] = ()) -> str:
    """A digest of what a comparison asks, and by which command of the base, of any code; the names of compared codes
    are left out: one commit has several. Where it states no command, it is that of the runs of the base, and without
    these there is none. How often, how long and where runs are made is no part of the question."""
    question, run = stated.question, stated.run
    is_code = question.axis == CODE_AXIS
    how: tuple[object, ...] = ({}, {}, None, None, [], False)
    commands = [[[*_plain_words(base.command)], base.shell, "." if is_code else base.cwd or "."] for base in bases]
    if run is not None:
        value = next(iter(run.values), question.base)
        words = (word.replace(f"{{{question.axis}}}", ANY).replace(ANY, value) for word in _plain_words(run.argv))
        commands = [[[*words], run.shell, run.cwd]]
        how = (run.env, encode(run.config), run.on, run.read, sorted(run.inputs), run.in_process)
    if is_code:
        question = structs.replace(question, base="", sides=tuple(map(str, range(len(question.sides)))))
    return digest(encode(question), sorted(commands, key=repr), how) if commands else ""


def codes_of(stated: Comparison) -> tuple[str, ...]:
    """What tells the code of a comparison from others, for each side; empty where nothing is known of it. Where code is
    compared, any file tells two sides apart, and their names do not matter."""
    codes = [stated.code[side] for side in stated.question.values if side in stated.code]
    marks = [code.identity if stated.question.axis == CODE_AXIS else code.mark for code in codes]
    return tuple(mark or "" for mark in marks) if any(marks) else ()


def _plain_words(command: Sequence[str]) -> Iterator[str]:
    """The words of a command, in which `--topk=2` is `--topk 2`."""
    for word in command:
        yield from word.split("=", 1) if word.startswith("--") else (word,)


def is_alike(command: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two commands are the same but for the places of their files: one may run in a checkout."""
    one, two = ([part for word in words for part in re.split("[ =]", word)] for words in (command, other))
    return len(one) == len(two) and all(_is_placed(a, b) or _is_placed(b, a) for a, b in zip(one, two, strict=True))


def _is_placed(word: str, other: str) -> bool:
    """Whether a word is another one, or the whole path of the file that the other names, in a checkout or not."""
    ending = CHECKOUT.sub(".", other)
    is_end = word.endswith(f"/{ending.removeprefix('./')}") if ending not in ("", ".") else bool(other)
    return word == other or (word.startswith("/") and is_end)


def conditions(question: Question, base: Run, other: Run, typed: Mapping[str, str]) -> dict[str, str]:
    """What the pairs of one question share beside it: the code of the base, its environment and devices; and where code
    is the axis, that of the other side. Packages may change between pairs: both sides of each have the same. A variable
    that names a checkout is one that was `typed`, or that the tool set."""
    codes = (base.code, other.code) if question.axis == CODE_AXIS else (base.code,)
    code = " ".join(str(c and (c.identity if question.axis == CODE_AXIS else c.key)) for c in codes)
    row = next(iter(base.rows), Row())
    facts = {n: v for n, v in _facts(base, row, question.axis).items() if n != "host" and not n.startswith(_PACKAGE)}
    facts |= {n: typed.get(n.removeprefix(_ENV)) for n, v in facts.items() if CHECKOUT.search(v or "")}
    return {name: value for name, value in {"code": code, **facts}.items() if value is not None}


def _facts(run: Run, row: Row, axis: str) -> dict[str, str | None]:
    """What a row was measured with beside its command and its code, without the axis: launcher or executor, devices,
    host, variables, packages, files."""
    code = run.code
    # Where the code is identified, they are a part of it, committed or not.
    own = {f"file:{file.path}" for file in code.untracked} if code is not None and code.sources is not None else set()
    own |= {f"{_ENV}{name}" for name in run.env.variables} if axis == CODE_AXIS else {axis}
    facts = {name: value for name, value in facts_of(run, row, None).items() if name not in own}
    return {**facts, "launcher": run.carrier, "devices": devices_text(row.devices or run.own_devices)}


def circumstances(run: Run, row: Row, axis: str) -> dict[str, str]:
    """The same in words."""
    return {name.partition(":")[2] or name: value[:40] for name, value in _facts(run, row, axis).items() if value}


def device_kinds(run: Run) -> str:
    """The kinds of devices of a run: `TPU v5p`."""
    devices = [d for row in run.rows[:1] for d in row.devices] or run.own_devices
    return ", ".join(dict.fromkeys(d.kind or d.platform for d in devices))


def code_labels(runs: Mapping[str, Run]) -> dict[str, str]:
    """The code of each side, as far as it is known: `3357f54a5`, with `+` where it was changed."""
    codes = {side: run.code for side, run in runs.items()}
    return {s: code.commit[:9] + ("+" if code.dirty else "") for s, code in codes.items() if code and code.commit}
