"""Secrets out of plain data (dict, list, text, number): what records, requests and answers are made of."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import structs

from logbook_agent.model.codec import CodecError, decode, encode
from logbook_agent.model.errors import RecordError
from logbook_agent.model.values import is_number
from logbook_agent.model.worker_report import noted
from logbook_agent.text.redaction.names import (
    OF_MANY,
    Secret,
    is_looked_for,
    is_reference,
    is_secret_value,
    mark,
    secret_kind,
)
from logbook_agent.text.redaction.redactor import Redactor

if TYPE_CHECKING:
    from logbook_agent.model.run import Row, Run

_R = TypeVar("_R")
# Keys under which a name stands, and those under which its value or values stand beside it.
_NAMES = ("name", "key", "label", "axis", "env", "variable", "header")
_VALUES = ("value", "values", "text", "default", "base", "sides")
# What tells one case from another stands below these keys. A secret leaves a digest there, so that two cases stay two;
# four digits of it, which are too few to find a short secret by.
_CASES = frozenset({"config", "labels", "part", "question"})
_DIGEST_DIGITS = 4
_SHOWN = re.compile(r"\[redacted:(?P<kind>[a-z0-9-]+)\]|\$(?P<name>[A-Za-z_]\w*)", re.ASCII)
# What files are called and found by.
_NEEDED = ("id", "name", "entry", "topic", "prefix", "opened")
# The digests by which codes, plans and files are told apart: the tool made them, and they stay whatever a rule takes
# for a secret.
_DIGESTS = ("commit", "identity", "sources", "diff_sha256", "diff_kept", "synced", "sha256", "kept", "digest")
_DIGEST = re.compile(r"(?:code/)?[0-9a-f]{12,64}(?![0-9A-Za-z])")


def redacted(plain: Any, redactor: Redactor) -> Any:
    """The data without secrets, in names too. A list of texts is read as an argument vector.

    A value that is a secret by its name or shape in one place is one everywhere in this data: the text of a problem may
    repeat what a row holds.
    """
    cleaner = _Cleaner(redactor)
    done = cleaner.clean(plain)
    return done if not cleaner.learned else _Cleaner(redactor.knowing(cleaner.learned)).clean(plain)


class _Cleaner:
    """`learned` are the values that it hid, where they are long enough to be looked for elsewhere."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self.learned: list[Secret] = []

    def clean(self, plain: Any, name: str = "", *, is_case: bool = False) -> Any:
        """The data that stands under `name`; `is_case`: it tells one case from another."""
        if isinstance(plain, str):
            return self._text(plain, name, is_case=is_case)
        if isinstance(plain, dict):
            return self._mapping(plain, name, is_case=is_case)
        if isinstance(plain, list | tuple):
            return self._list(list(plain), name, is_case=is_case)
        if not name or not is_number(plain) or self._redactor.kind_of(name) is None:
            return plain
        shown = self._text(str(plain), name, is_case=is_case)
        return plain if shown == str(plain) else shown

    def _text(self, text: str, name: str, *, is_case: bool) -> str:
        safe = self._redactor.named(name, text)
        if safe != text:
            self._learn(self._redactor.found(text, name))
        return _distinct(safe, text) if is_case else safe

    def _learn(self, found: Iterable[Secret]) -> None:
        self.learned += [secret for secret in found if is_looked_for(secret.value)]

    def _list(self, plain: list[Any], name: str, *, is_case: bool) -> list[Any]:
        """A list. Words and numbers are an argument vector, unless they stand under the name of a secret."""
        is_argv = any(isinstance(word, str) for word in plain) and self._redactor.kind_of(name) is None
        if not is_argv or not all(isinstance(word, str) or is_number(word) for word in plain):
            return [self.clean(value, name, is_case=is_case) for value in plain]
        words = tuple(map(str, plain))
        if (shown := self._redactor.argv(words)) == words:
            return plain
        self._learn(self._redactor.secrets_in_argv(words))
        safe = [_distinct(b, a) if is_case else b for a, b in zip(words, shown, strict=True)]
        return [a if str(a) == b else b for a, b in zip(plain, safe, strict=True)]

    def _mapping(self, plain: dict[Any, Any], name: str, *, is_case: bool) -> dict[Any, Any]:
        done = {}
        own = next((plain[key] for key in _NAMES if isinstance(plain.get(key), str)), "")
        for key, value in plain.items():
            below = self._name_of(key, value, name, own)
            if key in _DIGESTS and not is_case and isinstance(value, str) and (m := _DIGEST.match(value)) is not None:
                done[key] = m[0] + self.clean(value[m.end() :], below)
                continue
            own_key, safe = self._pair(key, value)
            done[self.clean(own_key)] = self.clean(safe, below, is_case=is_case or key in _CASES)
        return done

    def _pair(self, key: Any, value: Any) -> tuple[Any, Any]:
        """A key and its value, without what only both together show to be a secret: they may have been one text,
        `KEY=VALUE` or `KEY:VALUE`. Names are what they are, but for the scheme of an address."""
        if not isinstance(key, str) or not isinstance(value, str) or is_reference(value):
            return key, value
        if not key.isidentifier() or value.startswith("//"):
            for whole in (f"{key}={value}", f"{key}:{value}"):
                if (safe := self._redactor.text(whole)) != whole:
                    self._learn(self._redactor.found(whole))
                    rest = safe.removeprefix(whole[: len(key) + 1])
                    return (key, _distinct(rest, value)) if rest != safe else (safe, "")
        return key, value

    def _name_of(self, key: Any, value: Any, name: str, beside: str) -> str:
        """The name of the value of a key in data that stands under `name`, with a name `beside` it which may be that of
        a short value. `{"password": {"value": X}}` is one of the password. Below AUTH or CREDENTIAL there is more than
        the secret, below a TOKEN there may be a model's, and a number has its own name (a side may be called so)."""
        most = 1 if " " in beside else 6
        if key in _VALUES and beside and (not isinstance(value, str) or len(value.split()) <= most):
            return beside
        kind = self._redactor.kind_of(name)
        is_count = is_number(value) and key not in _VALUES
        is_own = kind is None or kind in OF_MANY or is_count or self._redactor.kind_of(str(key)) is not None
        return str(key) if is_own else name


def _distinct(safe: str, value: str) -> str:
    """A value without its secrets in which what stands for them keeps a digest of the value."""
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_DIGITS]

    def shown(m: re.Match[str]) -> str:
        kind = m["kind"] or m["name"].lower().replace("_", "-")[:40]
        return m[0] if m[0] in value else mark(f"{kind}-{digest}")

    return safe if safe == value else _SHOWN.sub(shown, safe)


def clean_run(run: Run, redactor: Redactor) -> Run:
    """A run without secrets. What a row measured under a secret's name is left out, and a problem
    says so."""
    hidden = {name for row in run.rows for name in _secret_numbers(row)}
    if hidden:
        rows = tuple(
            structs.replace(
                row,
                metrics={name: m for name, m in row.metrics.items() if name not in hidden},
                observations={name: None if name in hidden else value for name, value in row.observations.items()},
            )
            for row in run.rows
        )
        shown = ", ".join(redactor.text(name) for name in sorted(hidden))
        said: str = f"left out: {shown}: a number under a secret's name is not a measurement"
        run = structs.replace(run, rows=rows, problems=(*run.problems, *noted(said)))
    return clean_record(run, redactor)


def _secret_numbers(row: Row) -> list[str]:
    numbers = [(name, value) for name, measured in row.metrics.items() for value in measured.samples]
    numbers += [(name, value) for name, value in row.observations.items() if value is not None]
    return [name for name, value in numbers if (kind := secret_kind(name)) and is_secret_value(name, kind, str(value))]


def clean_record(record: _R, redactor: Redactor) -> _R:
    """An entry or header without secrets."""
    plain = encode(record)
    safe = redacted(plain, redactor)
    # Reading one again takes longer than looking at it. But what is returned is what a file holds, and there a byte
    # that is no UTF-8 is escaped; JSON writes two backslashes for each that is in a text, and one for what it escapes.
    if safe == plain and "\\\\" not in json.dumps(plain, ensure_ascii=False):
        return record
    try:
        done = decode(type(record), safe)
        lost = [f"{name} is {safe[name]}" for name in _NEEDED if name in plain and plain[name] != safe[name]]
    except CodecError as error:
        lost = [str(error)]
    if lost:
        name = next((safe[key] for key in ("id", "entry", "topic") if key in safe), "a record")
        raise RecordError(
            f"a secret rule hides a value that {name} needs: {lost[0]}",
            cause="a secret stands there, or what a rule of [[secret_rules]] in logbook.toml takes for one",
            hint="take the secret out, or make the rule narrower",
        )
    return done
