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
from logbook_agent.model.run import noted
from logbook_agent.model.values import is_number
from logbook_agent.text.redaction.names import OF_MANY, VARIABLE, is_reference, is_secret_value, mark, secret_kind
from logbook_agent.text.redaction.redactor import Redactor
from logbook_agent.text.redaction.secrets import Secret, is_looked_for

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
# Of texts without a secret so many short ones are remembered.
_SMALL, _MOST_HARMLESS = 256, 2**15
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
        self._harmless = redactor.harmless
        if len(self._harmless) > _MOST_HARMLESS:
            self._harmless.clear()
        self.learned: list[Secret] = []

    def clean(self, plain: Any, name: str = "", *, is_case: bool = False) -> Any:
        """The data that stands under `name`; `is_case`: it tells one case from another."""
        if isinstance(plain, str):
            return self._text(plain, name, is_case=is_case)
        if isinstance(plain, dict):
            return self._mapping(plain, name, is_case=is_case)
        if isinstance(plain, list | tuple):
            return self._list(list(plain), name, is_case=is_case)
        shown = self._text(str(plain), name, is_case=is_case) if name and is_number(plain) else str(plain)
        return plain if shown == str(plain) else shown

    def _text(self, text: str, name: str, *, is_case: bool) -> str:
        kind = self._redactor.kind_of(name) if name else None
        safe = self._redactor.named(name, text) if name else self._redactor.text(text)
        if safe == text:
            return text
        if kind is not None and is_secret_value(name, kind, text):
            is_variable = VARIABLE.fullmatch(name) is not None
            self._learn([Secret(name=name, value=text, kind=None if is_variable else kind)])
        else:
            self._learn(self._redactor.found(text))
        return _distinct(safe, text) if is_case else safe

    def _learn(self, found: Iterable[Secret]) -> None:
        self.learned += [secret for secret in found if is_looked_for(secret.value)]

    def _list(self, plain: list[Any], name: str, *, is_case: bool) -> list[Any]:
        """A list. Words and numbers are an argument vector, unless they stand under the name of a secret."""
        are_words = bool(plain) and all(isinstance(word, str) or is_number(word) for word in plain)
        if are_words and any(isinstance(word, str) for word in plain) and self._redactor.kind_of(name) is None:
            words = tuple(map(str, plain))
            shown = words if words in self._harmless else self._redactor.argv(words)
            if shown != words:
                self._learn(self._redactor.secrets_in_argv(words))
                safe = [_distinct(b, a) if is_case else b for a, b in zip(words, shown, strict=True)]
                return [a if str(a) == b else b for a, b in zip(plain, safe, strict=True)]
            self._harmless.add(words)
        return [self.clean(value, name, is_case=is_case) for value in plain]

    def _mapping(self, plain: dict[Any, Any], name: str, *, is_case: bool) -> dict[Any, Any]:
        done = {}
        own = next((plain[key] for key in _NAMES if isinstance(plain.get(key), str)), "")
        for key, value in plain.items():
            is_small = len(value) <= _SMALL if isinstance(value, str) else not isinstance(value, dict | list | tuple)
            fact = (name, own, key, type(value), value) if is_small else None
            if fact in self._harmless:
                done[key] = value
                continue
            below = own if key in _VALUES and self._is_named(own, value) else self._below(name, key)
            if key in _DIGESTS and not is_case and isinstance(value, str) and (m := _DIGEST.match(value)) is not None:
                done[key] = m[0] + self.clean(value[m.end() :], below)
                continue
            case = is_case or key in _CASES
            own_key, safe = self._pair(key, value)
            shown, safe = self.clean(own_key), self.clean(safe, below, is_case=case)
            done[shown] = safe
            if fact == (name, own, shown, type(safe), safe):
                self._harmless.add(fact)
        return done

    def _pair(self, key: Any, value: Any) -> tuple[Any, Any]:
        """A key and its value, without what only both together show to be a secret: they may have been one text,
        `KEY=VALUE` or `KEY:VALUE`. Names are what they are, but for the scheme of an address."""
        if not isinstance(key, str) or not isinstance(value, str) or is_reference(value):
            return key, value
        if not key.isidentifier() or value.startswith("//"):
            for sign in "=:":
                whole = f"{key}{sign}{value}"
                if (safe := self._redactor.text(whole)) != whole:
                    self._learn(self._redactor.found(whole))
                    is_kept = safe.startswith(f"{key}{sign}")
                    return (key, _distinct(safe[len(key) + 1 :], value)) if is_kept else (safe, "")
        return key, value

    def _is_named(self, name: str, value: Any) -> bool:
        """Whether a value beside a name is short enough to be the secret that it names."""
        return bool(name) and (not isinstance(value, str) or len(value.split()) <= (1 if " " in name else 6))

    def _below(self, name: str, key: Any) -> str:
        """Under what name the value of a key stands: `{"password": {"value": X}}` is one of the password. Below AUTH or
        CREDENTIAL there is more than the secret, and below a TOKEN there may be a model's."""
        kind = self._redactor.kind_of(name)
        is_own = kind is None or kind in OF_MANY or self._redactor.kind_of(str(key)) is not None
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
        rows = tuple(_without(row, frozenset(hidden)) for row in run.rows)
        shown = ", ".join(redactor.text(name) for name in sorted(hidden))
        said: str = f"left out: {shown}: a number under a secret's name is not a measurement"
        run = structs.replace(run, rows=rows, problems=(*run.problems, *noted(said)))
    return clean_record(run, redactor)


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
    except CodecError as error:
        raise _too_much(safe, str(error)) from error
    for name in _NEEDED:
        if getattr(done, name, None) != getattr(record, name, None):
            raise _too_much(safe, f"{name} is {getattr(done, name)}")
    return done


def _too_much(safe: Any, what: str) -> RecordError:
    """`safe`: the record without secrets, which says what it is called."""
    name = next((safe[key] for key in ("id", "entry", "topic") if key in safe), "a record")
    return RecordError(
        f"a secret rule hides a value that {name} needs: {what}",
        cause="a secret stands there, or what a rule of [[secret_rules]] in logbook.toml takes for one",
        hint="take the secret out, or make the rule narrower",
    )


def _secret_numbers(row: Row) -> list[str]:
    samples = {name: measured.samples for name, measured in row.metrics.items()}
    samples.update({name: (value,) for name, value in row.observations.items() if value is not None})
    kinds = {name: secret_kind(name) for name in samples}
    return [n for n, kind in kinds.items() if kind and any(is_secret_value(n, kind, str(v)) for v in samples[n])]


def _without(row: Row, names: frozenset[str]) -> Row:
    return structs.replace(
        row,
        metrics={name: m for name, m in row.metrics.items() if name not in names},
        observations={name: None if name in names else value for name, value in row.observations.items()},
    )
