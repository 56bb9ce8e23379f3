"""What the pairs of one comparison share: the command, the environment, the devices and the code, by which pairs that
were made under other conditions are told apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from logbook_agent.findings.tables.frame import devices_text
from logbook_agent.model.codec import encode
from logbook_agent.model.comparison import CODE_AXIS, Question
from logbook_agent.model.record import digest
from logbook_agent.model.run import Row, Run
from logbook_agent.model.values import canonical

_TOOL = "logbook-agent"
_ENV, _PACKAGE = "env:", "package:"
# The place of a checkout that was made for a while (`checkouts_folder`).
_CHECKOUT = re.compile(r"[^\s'\"=:]*/logbook-checkouts-\d+/[^/\s]+/\d+/[a-z]+(?:/|\b)")


def question_digest(question: Question, bases: Sequence[tuple[str, Run]], env: Mapping[str, str]) -> str:
    """A digest of the question with the command of the base, the variables that were typed, and the config that its
    rows share in each case. The names of compared codes are left out: one commit has several."""
    if is_code := question.axis == CODE_AXIS:
        question = replace(question, base="", sides=())
    # Later ones may have been run in a checkout, and name its files.
    first = dict(reversed(bases)).values()
    said = {(tuple(plain_words(run.command)), run.shell, None if is_code else run.cwd) for run in first}
    shared: dict[str, set[tuple[str, str]]] = {}
    for case, run in bases:
        for row in run.rows:
            config = {(name, canonical(value)) for name, value in row.config.items() if name != question.axis}
            shared[case] = shared.get(case, config) & config
    cases = sorted({repr(sorted(one)) for one in shared.values()})
    return digest(encode(question), sorted(map(repr, said)), cases, sorted(env.items()))


def plain_words(command: Sequence[str]) -> Iterator[str]:
    """The words of a command, in which `--topk=2` is `--topk 2`."""
    for word in command:
        yield from word.split("=", 1) if word.startswith("--") else (word,)


def is_alike(command: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two commands are the same but for the places of their files: one may run in a checkout."""
    one, two = ([part for word in words for part in re.split("[ =]", word)] for words in (command, other))
    return len(one) == len(two) and all(_is_placed(a, b) or _is_placed(b, a) for a, b in zip(one, two, strict=True))


def _is_placed(word: str, other: str) -> bool:
    """Whether a word is another one, or the whole path of the file that the other names, in a checkout or not."""
    ending = _CHECKOUT.sub("", other)
    is_end = word.endswith(f"/{ending.removeprefix('./')}") if ending else bool(other)
    return word == other or (word.startswith("/") and is_end)


def conditions(question: Question, base: Run, other: Run, typed: Mapping[str, str]) -> dict[str, str]:
    """What the pairs of one question share beside it: the code of the base, its environment and devices; and where code
    is the axis, that of the other side. Packages may change between pairs: both sides of each have the same. A variable
    that names a checkout is one that was `typed`, or that the tool set."""
    codes = (base.code, other.code) if question.axis == CODE_AXIS else (base.code,)
    code = " ".join(str(c and (c.identity if question.axis == CODE_AXIS else c.key)) for c in codes)
    row = next(iter(base.rows), Row())
    facts = {n: v for n, v in _facts(base, row, question.axis).items() if n != "host" and not n.startswith(_PACKAGE)}
    facts |= {n: typed.get(n.removeprefix(_ENV)) for n, v in facts.items() if _CHECKOUT.search(v or "")}
    return {name: value for name, value in {"code": code, **facts}.items() if value is not None}


def _facts(run: Run, row: Row, axis: str) -> dict[str, str | None]:
    """Where a row was measured, and with what, beside its command and its code: launcher, devices, host, variables,
    packages, untracked files."""
    variables = {f"{_ENV}{k}": v for k, v in run.env.variables.items() if axis not in (f"{_ENV}{k}", CODE_AXIS)}
    software = {n: v for n, v in {**run.software, **row.software}.items() if n.lower().replace("_", "-") != _TOOL}
    # Where the code is identified, they are a part of it, committed or not.
    is_apart = run.code is not None and run.code.sources is None
    untracked = run.code.untracked if run.code is not None and is_apart else ()
    return {
        "launcher": run.carrier,
        "devices": devices_text(row.devices or run.own_devices),
        "host": row.host or run.pool or run.own_host.name,
        **variables,
        **{f"{_PACKAGE}{name}": version for name, version in software.items()},
        **{f"file:{file.path}": file.sha256 for file in untracked},
        **{f"file:{file.path}": file.sha256 for file in run.inputs},
    }


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
