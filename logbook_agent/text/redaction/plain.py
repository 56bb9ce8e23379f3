"""Secrets out of plain data (dict, list, text, number): what records, requests and answers are made of."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from logbook_agent.model.codec import CodecError, decode, encode
from logbook_agent.model.errors import RecordError
from logbook_agent.model.run import noted
from logbook_agent.model.values import is_number
from logbook_agent.text.redaction.names import is_secret_value, label_kind, mark, secret_kind
from logbook_agent.text.redaction.redactor import Redactor
from logbook_agent.text.redaction.secrets import Secret, is_looked_for

# Keys under which a name and its value, or its values, stand as two.
_PAIRS = (
    *(("name", "value"), ("key", "value"), ("label", "text"), ("axis", "values"), ("name", "values")),
    *(("axis", "base"), ("axis", "sides")),
    *(("env", "value"), ("variable", "value"), ("header", "value"), ("name", "default")),
)
_NAME_KEYS = frozenset(name for name, _ in _PAIRS)
_NAME = re.compile(r"[\w.-]*")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*", re.ASCII)
# What tells one case from another stands below these keys. A secret leaves a digest there, so that two cases stay two;
# four digits of it, which are too few to find a short secret by.
_CASES = frozenset({"config", "labels", "part", "question"})
_DIGEST_DIGITS = 4
_SHOWN = re.compile(r"\[redacted:(?P<kind>[a-z0-9-]+)\]|\$(?P<name>[A-Za-z_]\w*)", re.ASCII)
_R = TypeVar("_R")
# What files are called and found by.
_NEEDED = ("id", "entry", "topic", "prefix", "opened")
# The digests by which codes, plans and files are told apart and found: the tool made them, and they stay, whatever a
# rule takes for a secret. They stand in a run, an entry, a header, and below these keys of them.
_DIGESTS = ("spool", "commit", "identity", "sources", "diff_sha256", "diff_kept", "synced", "sha256", "kept", "digest")
_ABOVE_DIGESTS = ("code", "untracked", "output", "recipe", "snapshots", "evaluator")
_DIGEST = re.compile(r"(?:code/)?[0-9a-f]{12,64}(?![0-9A-Za-z])")


def redacted(plain: Any, redactor: Redactor) -> Any:
    """The data without secrets, in names too. A list of texts is read as an argument vector.

    A value that is a secret by its name or shape in one place is one everywhere in this data: the text of a problem may
    repeat what a row holds. Most data hold none, and one look at all texts tells.
    """
    if not redactor.may_hold_some("\n".join(texts(plain))):
        return plain
    return _Cleaner(redactor.knowing(_found(plain, redactor))).clean(plain)


def texts(plain: Any) -> list[str]:
    """Every text in it; one that has a name stands as `name=text`, as secrets are known by their names too."""
    found: list[str] = []
    _gather(plain, "", found)
    return found


def _gather(plain: Any, name: str, found: list[str]) -> None:
    """Add the texts of what stands under `name`. Every record that leaves passes here: lists, not generators."""
    if isinstance(plain, str):
        found.append(f"{name}={plain}")
    elif isinstance(plain, dict):
        for key, value in plain.items():
            word = str(key)
            found.append(word)
            if isinstance(value, str):
                found.append(f"{word}={value}")
                if name:
                    found.append(f"{name}={value}")
            else:
                _gather(value, f"{name}_{word}" if name else word, found)
        found.extend(f"{re.sub(r'[^A-Za-z0-9]+', '_', own)}={value}" for own, _, value in _pairs(plain))
    elif isinstance(plain, list | tuple):
        if _has_words(plain):
            found.append(" ".join(map(str, plain)))
        for value in plain:
            _gather(value, name, found)
    elif is_number(plain):
        found.append(f"{name}={plain}")


def _found(plain: Any, redactor: Redactor, name: str = "") -> Iterator[Secret]:
    """Every value in it that is hidden where it stands, if it is long enough to be looked for elsewhere."""
    if isinstance(plain, dict):
        for own, _, value in _pairs(plain):
            yield from _secret(own, _pair_kind(redactor, own, value), value)
        for key, value in plain.items():
            yield from _found(value, redactor, _name_below(redactor, name, key))
    elif isinstance(plain, list | tuple):
        if _is_argv(plain):
            yield from redactor.secrets_in_argv(plain)
        else:
            for value in plain:
                yield from _found(value, redactor, name)
    elif isinstance(plain, str) or is_number(plain):
        text = str(plain)
        kind = redactor.kind_of(name)
        if kind is not None and is_secret_value(name, kind, text):
            yield from _secret(name, kind, text)
        elif isinstance(plain, str):
            for value, found in redactor.secrets_in_text(plain):
                yield from _secret("", found, value)


def _secret(name: str, kind: str | None, value: str) -> Iterator[Secret]:
    if kind is not None and is_looked_for(value) and is_secret_value(name, kind, value):
        is_variable = _VARIABLE.fullmatch(name) is not None
        yield Secret(
            name=name if is_variable else "SECRET",
            value=value,
            kind=None if is_variable else kind,
        )


class _Cleaner:
    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor

    def clean(self, plain: Any, name: str = "", is_case: bool = False) -> Any:
        if isinstance(plain, str):
            safe = self._redactor.named(name, plain) if name else self._redactor.text(plain)
            return _distinct(safe, plain) if is_case else safe
        if isinstance(plain, dict):
            return self._mapping(plain, name, is_case)
        if isinstance(plain, list | tuple):
            if _is_argv(plain) and self._redactor.kind_of(name) is None:
                return list(self._redactor.argv(plain))
            if self._redactor.kind_of(name) is None and _has_words(plain):
                shown = self._redactor.argv([str(word) for word in plain])
                plain = [b if isinstance(a, str) or str(a) != b else a for a, b in zip(plain, shown, strict=True)]
            return [self.clean(value, name, is_case) for value in plain]
        kind = self._redactor.kind_of(name) if is_number(plain) else None
        if kind is None or not is_secret_value(name, kind, str(plain)):
            return plain
        return _distinct(mark(kind), str(plain)) if is_case else mark(kind)

    def _mapping(self, plain: dict[Any, Any], name: str, is_case: bool) -> dict[Any, Any]:
        done = {}
        for key, value in plain.items():
            own, safe = self._pair(key, value, _name_below(self._redactor, name, key), is_case or key in _CASES)
            done[own] = safe
        for own, key, value in _pairs(plain):
            kind = _pair_kind(self._redactor, own, value)
            beside = plain[key]
            if kind is not None:
                values = [beside] if isinstance(beside, str) else beside
                marks = [_distinct(mark(kind), value) if is_case else mark(kind) for value in values]
                done[key] = marks[0] if isinstance(beside, str) else marks
            elif isinstance(beside, str):
                done[key] = self._below(own, done[key])
        if (apart := self._apart(plain.get("label"), plain.get("text"))) is not None:
            done["label"], done["text"] = apart
        return done

    def _pair(self, key: Any, value: Any, name: str, is_case: bool) -> tuple[Any, Any]:
        """A key and its value, which may have been one text once: `=` was a part of it."""
        apart = self._apart(key, value)
        return apart if apart is not None else (self.clean(key), self.clean(value, name, is_case))

    def _apart(self, key: Any, value: Any) -> tuple[str, str] | None:
        """`key=value` without the secrets that are seen in the whole alone; None where there are none."""
        if not isinstance(key, str) or not isinstance(value, str) or _NAME.fullmatch(key) is not None:
            return None
        together = f"{key}={value}"
        read = self._redactor.text(together)
        if read in (together, f"{self.clean(key)}={self.clean(value, key)}"):
            return None
        head, _, tail = read.partition("=")
        return self.clean(head), self.clean(tail)

    def _below(self, label: str, text: str) -> str:
        """A text under its label, read as the lines of a document: `name: DB_PASSWORD` and below it `value: X`."""
        head = f"{label}: "
        read = self._redactor.text(head + text)
        return read.removeprefix(head) if read.startswith(head) else text


def _distinct(safe: str, value: str) -> str:
    """A value without its secrets in which what stands for them keeps a digest of the value."""
    if safe == value:
        return safe
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_DIGITS]

    def shown(m: re.Match[str]) -> str:
        kind = m["kind"] or m["name"].lower().replace("_", "-")[:40]
        return m[0] if m[0] in value else mark(f"{kind}-{digest}")

    return _SHOWN.sub(shown, safe)


def _name_below(redactor: Redactor, name: str, key: Any) -> str:
    """Under what name the value of a key stands: `{"password": {"value": X}}` is one of the password. Below AUTH or
    CREDENTIAL there is more than the secret, and below a TOKEN there may be a model's."""
    kind = redactor.kind_of(name)
    if kind is None or kind in ("token", "auth", "credential") or redactor.kind_of(str(key)) is not None:
        return str(key)
    return name


def _has_words(plain: Sequence[Any]) -> bool:
    return any(isinstance(w, str) for w in plain) and all(isinstance(w, str | int | float) for w in plain)


def _pairs(plain: dict[Any, Any]) -> Iterator[tuple[str, str, str]]:
    """Names with the values beside them, and the keys of the values."""
    if _NAME_KEYS.isdisjoint(plain):
        return
    for name_key, value_key in _PAIRS:
        own, value = plain.get(name_key), plain.get(value_key)
        if isinstance(own, str) and isinstance(value, str | list | tuple):
            yield from (
                (own, value_key, text)
                for text in ([value] if isinstance(value, str) else value)
                if isinstance(text, str)
            )


def _pair_kind(redactor: Redactor, name: str, value: str) -> str | None:
    """The kind of a value that stands beside its name. A name of several words is a label of prose."""
    if len(name.split()) > 1:
        return label_kind(name, value)
    kind = redactor.kind_of(name)
    return kind if kind is not None and is_secret_value(name, kind, value) and len(value.split()) <= 6 else None


def _is_argv(plain: Sequence[Any]) -> bool:
    return bool(plain) and all(isinstance(word, str) for word in plain)


if TYPE_CHECKING:
    from logbook_agent.model.run import Row, Run
    from logbook_agent.model.worker_report import End
_M = TypeVar("_M", "Run", "End")


def clean_run(run: _M, redactor: Redactor) -> _M:
    """A run, or the end of one, without secrets. What a row measured under a secret's name is left out, and a problem
    says so."""
    hidden = {name for row in run.rows for name in _secret_numbers(row)}
    if hidden:
        rows = tuple(_without(row, frozenset(hidden)) for row in run.rows)
        shown = ", ".join(redactor.text(name) for name in sorted(hidden))
        said: str = f"left out: {shown}: a number under a secret's name is not a measurement"
        run = dataclasses.replace(run, rows=rows, problems=(*run.problems, *noted(said)))
    return clean_record(run, redactor)


def clean_record(record: _R, redactor: Redactor) -> _R:
    """An entry or header without secrets."""
    plain = encode(record)
    said = "\n".join(texts(plain))
    # Most records hold none; reading one again takes longer than looking at it. But what is returned is what a file
    # holds, and there a byte that is no UTF-8 is escaped.
    if "\\" not in said and not redactor.may_hold_some(said):
        return record
    digests = [_without_digest(place, key) for place, key in list(_digests(plain))]
    safe = redacted(plain, redactor)
    for (place, key), digest in zip(_digests(safe), digests, strict=False):
        place[key] = digest + place[key]
    try:
        done = decode(type(record), safe)
    except CodecError as error:
        raise _too_much(safe, str(error)) from error
    for name in _NEEDED:
        if getattr(done, name, None) != getattr(record, name, None):
            raise _too_much(safe, f"{name} is {getattr(done, name)}")
    return done


def _digests(plain: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Where digests stand in a record, as mappings and their keys."""
    if isinstance(plain, list):
        for value in plain:
            yield from _digests(value)
    elif isinstance(plain, dict):
        yield from ((plain, key) for key in _DIGESTS if isinstance(plain.get(key), str))
        for key in _ABOVE_DIGESTS:
            yield from _digests(plain.get(key))


def _without_digest(place: dict[str, Any], key: str) -> str:
    """The digest that a value begins with, which is taken out of it; empty where there is none."""
    m = _DIGEST.match(place[key])
    digest = "" if m is None else m[0]
    place[key] = place[key].removeprefix(digest)
    return digest


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
    return [name for name, values in samples.items() if _is_secret(name, values)]


def _is_secret(name: str, values: tuple[float, ...]) -> bool:
    kind = secret_kind(name)
    return kind is not None and any(is_secret_value(name, kind, str(value)) for value in values)


def _without(row: Row, names: frozenset[str]) -> Row:
    return dataclasses.replace(
        row,
        metrics={name: m for name, m in row.metrics.items() if name not in names},
        observations={name: None if name in names else value for name, value in row.observations.items()},
    )
