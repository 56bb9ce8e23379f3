r"""Secrets known by their shape, within one line.

A rule's `replace` returns the match unchanged where it is no secret after all. Every match begins with the
part that `gate` looks for, or at most a name and a few quotes before it: a stream relies on that. Patterns
are compiled when their literals are first met: all of them would take longer than most commands run.
A left boundary allows the end of a colour code (`\x1b[32mghp_...`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from logbook_agent.redaction.names import NAME_PARTS, Names, is_reference, is_secret_value, kind_of, mark

Match = re.Match[str]

_LEFT = r"(?:(?<![A-Za-z0-9])|(?<=[0-9;\[][A-Za-z]))"
_QUOTES = r"""[\\"']{0,4}"""


@dataclass(frozen=True, slots=True)
class _Rule:
    """Runs where one of the literals occurs (in lower case)."""

    literals: str
    pattern: str
    replace: Callable[[Match], str]
    flags: int = 0

    def runs_in(self, low: str) -> bool:
        return any(literal in low for literal in self.literals.split())


@functools.cache
def _compiled(rule: _Rule) -> re.Pattern[str]:
    return re.compile(rule.pattern, re.ASCII | rule.flags)


def _format(kind: str, literals: str, pattern: str) -> _Rule:
    """A provider's token format, replaced as a whole."""
    return _Rule(literals, pattern, lambda m: mark(kind))


def _value(kind: str) -> Callable[[Match], str]:
    """Replaces the group `value`, unless it only refers to a secret."""

    def replace(m: Match) -> str:
        return m[0] if is_reference(m["value"]) else _with_value(m, mark(kind))

    return replace


def _with_value(m: Match, new: str) -> str:
    start, end = m.start("value") - m.start(), m.end("value") - m.start()
    return m[0][:start] + new + m[0][end:]


_PROVIDERS: tuple[_Rule, ...] = (
    _format(
        "private-key",
        "-----end",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----.*?-----END [A-Z0-9 ]{0,40}-----",
    ),
    _format(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,})",
    ),
    _format("gitlab-token", "glpat-", r"glpat-[A-Za-z0-9_.-]{16,}"),
    _format("huggingface-token", "hf_", r"hf_[A-Za-z0-9]{16,}"),
    _format("anthropic-key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{12,}"),
    _format("openai-key", "sk-", _LEFT + r"sk-(?=[A-Za-z_-]{0,64}[0-9])[A-Za-z0-9_-]{16,}"),
    _format("slack-token", "xox", r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{8,}"),
    _format("slack-webhook", "hooks.slack.com/", r"hooks\.slack\.com/services/[A-Za-z0-9/_-]{16,}"),
    _format("aws-key-id", "akia asia", _LEFT + r"(?:AKIA|ASIA)[A-Z0-9]{16,}"),
    _format("google-key", "aiza ya29.", r"(?:AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{16,})"),
    _format("npm-token", "npm_", r"npm_[A-Za-z0-9]{30,}"),
    _format("pypi-token", "pypi-", r"pypi-(?=[a-z_-]{0,64}[A-Z0-9])[A-Za-z0-9_-]{16,}"),
    _format("stripe-key", "k_live_", r"[rs]k_live_[A-Za-z0-9]{16,}"),
    _format("jwt", "eyj", _LEFT + r"eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,4}"),
)


def _url(m: Match) -> str:
    user, colon, password = m["value"].partition(":")
    if is_reference(m["value"]) or is_reference(password if colon else user):
        return m[0]
    # A name alone is an address (ssh://git@host); a long one is a token in its place.
    is_secret = bool(colon) or (len(user) >= 16 and any(c.isdigit() for c in user))
    return _with_value(m, mark("credentials")) if is_secret else m[0]


_AUTHORIZATION = rf"authorization{_QUOTES}\s{{0,8}}[:=]\s{{0,8}}{_QUOTES}"
_HEADERS: tuple[_Rule, ...] = (
    # An image's digest (docker://name:tag@sha256:...) is no host.
    _Rule("://", r"://(?P<value>[^\s/\"'<>`\\]+)@(?!sha256:)", _url),
    _Rule(
        "authorization",
        _AUTHORIZATION + r"(?:bearer|basic|token|negotiate|apikey|bot)\s{1,8}(?P<value>[^\s\"',;\\\x1b]+)",
        _value("auth"),
        re.IGNORECASE,
    ),
    _Rule(
        "authorization",
        _AUTHORIZATION + r"(?=\S*[0-9])(?P<value>[^\s\"',;\\\x1b]{16,})",
        _value("auth"),
        re.IGNORECASE,
    ),
    _Rule(
        "bearer",
        _LEFT + r"bearer\s{1,8}(?=\S*[0-9])(?P<value>[A-Za-z0-9._~+/=-]{16,})",
        _value("auth"),
        re.IGNORECASE,
    ),
    _Rule(
        "wandb",
        r"wandb\s{1,8}login\s{1,8}(?:--\S{1,64}\s{1,8}){0,4}(?P<value>[A-Za-z0-9_-]{32,})",
        _value("api-key"),
    ),
)
_RULES = (*_PROVIDERS, *_HEADERS)

# What stands before a value: `--name=`, `--name `, `NAME=`, `"name": `, `Some-Header: `. The value is matched
# apart, so that a name inside the value of another one (`env:HF_TOKEN=...`) is seen too.
_FLAG = re.compile(
    r"(?:(?<![\w-])|(?<=[0-9;\[]m))--?(?P<name>[A-Za-z][A-Za-z0-9_.-]{2,63})(?P<close>)(?P<sep>=|\s{1,8}(?!-))",
    re.ASCII,
)
_NAME = re.compile(
    r"(?<![A-Za-z_.-])(?P<name>[A-Za-z_][A-Za-z0-9_.-]{2,127})(?P<close>(?:\\?[\"'])?)"
    r"(?P<sep>\s{0,8}:?=\s{0,8}|\s{0,8}:\s{0,8})",
    re.ASCII,
)
_QUOTED = re.compile(r"""(?P<open>\\?["'])(?P<value>(?:\\.|.){0,4096}?)(?P=open)""")
_WORD = re.compile(r"""["']?(?P<value>[^\s"'`;&|()<>\\\x1b]*)""", re.ASCII)
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Edit:
    """`text[start:end]` becomes `new`; the whole finding begins at `begin`."""

    begin: int
    start: int
    end: int
    new: str


def _named_values(text: str, head: re.Pattern[str], extra: Names) -> Iterator[_Edit]:
    end = 0
    for m in head.finditer(text):
        kind = kind_of(m["name"], extra) if m.start() >= end else None
        if kind is None:
            continue
        found = _QUOTED.match(text, m.end()) or _WORD.match(text, m.end())
        if found is None:
            continue
        is_quoted = found.re is _QUOTED
        value = found["value"] if is_quoted else _without_closers(found["value"])
        if not is_secret_value(m["name"], kind, value):
            continue
        if not is_quoted and head is _NAME and _is_prose_or_code(text, m, found):
            continue
        if m["sep"].isspace() and not m[0].startswith("--"):
            continue
        is_variable = head is _NAME and not m["close"] and _VARIABLE.fullmatch(m["name"]) is not None
        start = found.start("value")
        end = start + len(value)
        yield _Edit(m.start(), start, end, f"${m['name']}" if is_variable else mark(kind))


def _without_closers(value: str) -> str:
    """What closes a list around an unquoted value is not part of it; what closes a mark is."""
    bare = value.rstrip(",]}")
    opened = bare.rfind(mark("")[:-1])
    return bare + "]" if opened >= 0 and "]" not in bare[opened:] else bare


def _is_prose_or_code(text: str, head: Match, value: Match) -> bool:
    name, sep = head["name"], head["sep"]
    if ":" in sep and "=" not in sep:
        # `token: what the router sees`; but a header, a quoted key, a variable or a line of YAML is no prose.
        is_alone = not text[: head.start()].strip(" \t-") and not text[value.end() :].strip()
        return not (head["close"] or name.isupper() or "-" in name or is_alone)
    if sep.strip() != sep and not _is_random(value["value"]):
        return True  # token = tokenizer.next()
    # token=os.environ["TOKEN"], token=read()
    return value["value"].endswith("[") or text[value.end() : value.end() + 1] == "("


def _is_random(value: str) -> bool:
    return len(value) >= 16 and any(c.isdigit() for c in value) and "." not in value


def _edited(text: str, edits: Iterator[_Edit]) -> str:
    out, at = [], 0
    for edit in edits:
        out += [text[at : edit.start], edit.new]
        at = edit.end
    return "".join([*out, text[at:]]) if at else text


def apply(text: str, extra: Names = frozenset()) -> str:
    """One line of text with every rule applied once; `extra` are further names that hold secrets."""
    low = text.lower()
    for rule in _RULES:
        if rule.runs_in(low):
            text = _compiled(rule).sub(rule.replace, text)
    for head in _heads(low, extra):
        text = _edited(text, _named_values(text, head, extra))
    return text


def spans(text: str, extra: Names = frozenset()) -> list[tuple[int, int]]:
    """Where the rules find secrets in raw text; findings that overlap are listed apart."""
    low = text.lower()
    found = [
        m.span()
        for rule in _RULES
        if rule.runs_in(low)
        for m in _compiled(rule).finditer(text)
        if rule.replace(m) != m[0]
    ]
    return found + [(e.begin, e.end) for head in _heads(low, extra) for e in _named_values(text, head, extra)]


def _heads(low: str, extra: Names) -> tuple[re.Pattern[str], ...]:
    """The patterns of what stands before a value, if any name in the text can be secret."""
    if any(part in low for part in NAME_PARTS) or any(name.lower() in low for name in extra):
        return _FLAG, _NAME
    return ()


# A private key that goes on in the next lines.
KEY_BEGINS = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----", re.ASCII)
KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]{0,40}-----", re.ASCII)
# Base64 at the end of a line, perhaps after a log prefix or in a quoted string; RFC 1421 headers; blank.
KEY_BODY = re.compile(
    r"(?:.*[\s|>\"'])?[A-Za-z0-9+/]{16,}={0,2}(?:\\[nr])*[\"',+\\\s]*|\s*[\"']?[A-Za-z0-9+/]{1,64}={0,2}[\"',+\\\s]*"
    r"|\s*(?:Proc-Type|DEK-Info|Version|Comment):.*|\s*",
    re.ASCII,
)
# The longest key seen has some 200 lines; a lost END must not swallow the rest of the output.
MAX_KEY_LINES = 400
