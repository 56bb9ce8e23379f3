"""Which names hold secrets, and which values under such a name are one; and the forms in which programs print them.

A name is cut into words at signs and at camelCase humps; it holds a secret where NAMES has its words, unless the last
word only describes or locates the secret (SSH_AUTH_SOCK, TOKEN_FILE). Where the name goes on behind the word
(token_mixer), the value must look like a secret, too.
"""

from __future__ import annotations

import base64
import functools
import json
import re
import shlex
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

_KEY_OWNERS = (
    "api|access|private|secret|signing|encryption|master|account|auth|service|db|database|priv|client|ssh|license"
    "|storage|openai|wandb|anthropic|mistral|gemini|cohere|groq|comet|neptune"
)
_OWNERS = "db|database|mysql|pg|postgres|redis|key|ssh|smtp|ftp|mail|email|user|admin|root|proxy"
_UNITS = "per_|num_|max_|min_|first_|last_|next_|eos_|bos_|pad_|unk_|mask_|sep_|cls_|special_"
# Kind and pattern, over the words in small letters, without numbers, with one `_` before each and one behind the last.
_NAMES = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("password", r"passwd|password|passphrase|contrasena|[a-z_]pwd_$|_[a-z]+_pwd_|_[a-z]+_pw_$"),
        ("password", rf"_(?:{_OWNERS})_?pass_$"),
        ("api-key", "apikey"),
        ("secret", r"secret(?!ar|e[ti]|ly|storage)"),
        ("token", r"token_|_jwt_|_bearer_|_[a-z]+_pat_$"),
        ("key", rf"_(?P<owner>{_KEY_OWNERS})_?key_"),
        ("auth", r"_auth_(?!key_)"),
        ("credential", r"_credentials?_(?!key_)"),
    )
)
_OF_UNITS = re.compile(rf"_(?:{_UNITS})[a-z]*?token_")
_DESCRIBES = re.compile(
    "_(?:file|path|sock|socket|dir|mode|type|kind|method|url|uri|host|port|user|username|name|stdin|prompt|cmd|command"
    "|helper|provider|plugin|scheme|enabled|disabled|required|timeout|ttl|expiry|length|len|count|limit|size|error"
    "|exception|warning|dtype|dim|idx|index|budget|rate)_$"
)
# Every secret-looking name has one of these, in small letters.
STEMS = ("token", "secret", "pass", "key", "auth", "credential", "jwt", "bearer", "pwd", "pw", "pat", "contrasena")
_STEM = re.compile("|".join(STEMS))
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BREAK = re.compile(r"[^A-Za-z0-9]+")
_PLURAL = re.compile(r"(password|passwd|passphrase|secret|key)s$")

_NUMBER = r"[-+]?[0-9][0-9_,]*(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?"
_NUMERIC = re.compile(_NUMBER)
_QUANTITY = re.compile(rf"{_NUMBER} ?(?:[num\u00b5]?s|min|h|[kKMGT]?i?[bB]|%|x|[kMG]?Hz|\w{{1,6}}/s)(?:/\w{{1,8}})?")
_VERSION = re.compile(r"v?[0-9]+(?:\.[0-9]+){1,4}[a-z0-9.+-]{0,16}")
_REFERENCE = re.compile(
    r"\$(?:[A-Za-z_]\w*|\{\{?[^}]*\}{0,2}|\(.*)|%[A-Za-z_]\w*%|<[^>]*>?|\{[^}]*\}?|[*.xX…]+|\[redacted:.*", re.DOTALL
)
_PATH = re.compile(r"(?:~|\.{1,2})?/[\w.@%+~-]+(?:/[\w.@%+~ -]+)*/?")
# A code: `WORK+9f6d9bb`, `main@3f2a9c01d`, `3f2a9c01d+aa3e720`.
_CODE = re.compile(r"WORK\+[0-9a-f]{7}|[A-Za-z][\w./-]*@[0-9a-f]{9}|[0-9a-f]{9}\+[0-9a-f]{7}")
_ATTRIBUTE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\.(\w+)")
# A word of small letters, capitals and digits: no name of parts, no digest.
_MIXED = re.compile(r"(?<![A-Za-z0-9])(?=[A-Z0-9]*[a-z])(?=[a-z0-9]*[A-Z])(?=[A-Za-z]*[0-9])[A-Za-z0-9]{12,}", re.ASCII)
_ORDINARY = re.compile(r"[A-Z]?[a-z]+(?:[-_ ,./][a-z]+)*[:.,]?|[A-Z_]+")
# resnet50, laion2b, GroupedMatmul, 128x128, 20260131: pieces of names, not of keys.
_WORD = r"(?:[a-z]*+(?:[A-Z]++[a-z]{2,}+)*+[A-Z]*+[0-9]{0,4}+[a-z]?|[0-9]++(?:x[0-9]++)*+)"
WORDS = re.compile(rf"{_WORD}(?:[_+/.~-]++{_WORD})*+")
# A path below a home folder; a token of a tokenizer that begins a word.
_NO_SECRET = ("~/", "\u2581", "\u0120")
_SWITCHES = frozenset({"true", "false", "yes", "no", "on", "off", "none", "null", "nil", "unset", "undefined", "auto"})
# Kinds whose names have other meanings, too.
OF_MANY = ("token", "auth", "credential")
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*", re.ASCII)


@functools.lru_cache(maxsize=4096)
def secret_kind(name: str) -> str | None:
    """`password`, `secret`, `api-key`, `token` ... for a secret-looking name, else None."""
    if _STEM.search(name.lower()) is None:
        return None
    words = [w.rstrip("0123456789") for w in _BREAK.split(_HUMP.sub("_", name).lower())]
    words = [_PLURAL.sub(r"\1", w) for w in words if w]
    text = f"_{'_'.join(words)}_"
    if _DESCRIBES.search(text) is not None or name in ("PWD", "OLDPWD"):
        return None
    for kind, pattern in _NAMES:
        m = pattern.search(text)
        if m is not None and not (kind == "token" and _OF_UNITS.search(text)):
            return f"{m['owner']}-key" if kind == "key" else kind
    return None


def is_secret_name(name: str) -> bool:
    return secret_kind(name) is not None


@functools.lru_cache(maxsize=4096)
def ends_secret(name: str) -> bool:
    """Whether the end of the name makes it a secret's: `db_password` and `api_key`, not `token_mixer`."""
    *_, before, last = ["", "", *(w for w in _BREAK.split(_HUMP.sub("_", name)) if w)]
    return secret_kind(last) is not None or (secret_kind(before) is None and is_secret_name(f"{before}_{last}"))


def mark(kind: str) -> str:
    """`[redacted:KIND]`, which replaces a secret without a variable's name."""
    return f"[redacted:{kind}]"


def is_reference(value: str) -> bool:
    """Whether the value stands for a secret without being one: redacted already, `$NAME`, `<token>`."""
    value = value.strip("\"'\\")
    return not value or _REFERENCE.fullmatch(value) is not None


def looks_secret(value: str) -> bool:
    """Whether a value is more than a word: it has a digit, mixed case or a special sign, or is long."""
    return len(value) >= 20 or _ORDINARY.fullmatch(value) is None


def looks_random(kind: str, value: str) -> bool:
    """Whether a value beside a name of this kind, with nothing but blanks or a sign between, can be no other word."""
    least = 6 if kind == "password" else 12 if kind in OF_MANY else 8
    if len(value) < least or not (any(map(str.isdigit, value)) and any(map(str.isalpha, value))):
        return False
    is_digest = kind in OF_MANY and re.fullmatch("[0-9a-f-]+", value) is not None
    plain = (WORDS, _VERSION, _PATH, _QUANTITY, _NUMERIC, _ATTRIBUTE)
    return not is_digest and "(" not in value and not any(form.fullmatch(value) for form in plain)


def is_secret_value(name: str, kind: str, value: str) -> bool:
    """Whether a value under a secret-looking name is worth hiding: no reference, switch, quantity, count or path."""
    is_number = _NUMERIC.fullmatch(value) is not None
    # A parser's sign.
    if len(value) == 1 or (len(value) < 4 and not any(map(str.isalnum, value))):
        return False
    if (is_number and kind in ("token", "auth")) or value.lower() in _SWITCHES or value.startswith(_NO_SECRET):
        return False
    if is_reference(value) or _QUANTITY.fullmatch(value) is not None:
        return False
    if kind in OF_MANY and _CODE.fullmatch(value) is not None:
        return False
    own, plain = name.upper().replace("-", "_"), value.upper().replace("-", "_")
    attribute = _ATTRIBUTE.fullmatch(value)
    if own == plain or own.endswith("_" + plain) or (attribute is not None and is_secret_name(attribute[1])):
        return False
    is_end = ends_secret(name) and not name[-1:].isdigit()
    if is_secret_name(name) and (not is_end or own.endswith("PAT")) and not _looks_like(name, kind, value):
        return False
    if _PATH.fullmatch(value) is not None and (own.endswith("PWD") or kind in ("auth", "credential")):
        return False
    return not (is_number and not is_end) and (kind not in ("auth", "credential") or len(value) >= 8)


def _looks_like(name: str, kind: str, value: str) -> bool:
    """Whether a value looks like a secret under a name that goes on after the secret-looking word."""
    if kind not in OF_MANY:
        return looks_secret(value) and _VERSION.fullmatch(value) is None
    if ends_secret(name.rstrip("_-0123456789")):  # token_2
        return len(value) >= 16 and any(map(str.isdigit, value))
    return _MIXED.search(value) is not None


# -- the values of secret-named variables, and the forms in which programs print them -------------------------


# Shorter values are too common as ordinary words to be replaced everywhere.
MIN_LENGTH = 8
# Nor is one such word looked for, which ordinary text has too (PGPASSWORD=postgres): hiding it there would tell it.
_ONE_WORD = re.compile(r"[A-Z]?[a-z]{1,11}|[A-Z]{1,12}")
# A longer form is looked for in pieces, so that a stream need hold back no more than this.
MAX_FORM = 2048
# `base64` wraps at 76 columns.
_COLUMNS = 76


class Secret(Struct, frozen=True, kw_only=True):
    """A known value. It is shown as `$NAME`; one that has a `kind` was found under no variable's name, and is shown as
    `[redacted:KIND]`."""

    name: str
    value: str
    kind: str | None = None

    @property
    def shown(self) -> str:
        return f"${self.name}" if self.kind is None else mark(self.kind)


def is_looked_for(value: str) -> bool:
    """Whether a known secret is replaced wherever it stands, not behind its name alone."""
    return len(value) >= MIN_LENGTH and _ONE_WORD.fullmatch(value) is None


def secrets_in(environ: Mapping[str, str], extra_names: Sequence[str] = ()) -> tuple[Secret, ...]:
    """Values of eight characters or more whose name looks secret or is in `extra_names`."""
    found: dict[str, str] = {}
    for name, value in environ.items():
        kind = secret_kind(name)
        is_known = kind is not None and is_looked_for(value) and is_secret_value(name, kind, value)
        if is_known or (name in extra_names and len(value) >= MIN_LENGTH):
            found.setdefault(value, name)
    return tuple(Secret(name=name, value=value) for value, name in found.items())


@functools.lru_cache(maxsize=1024)
def forms_of(value: str) -> tuple[str, ...]:
    """The value as it may be printed: each of its lines, quoted for a shell, JSON and addresses, in hexadecimal and in
    base64. None is short."""
    pieces = (form[at : at + MAX_FORM] for form in _forms(value) for at in range(0, len(form), MAX_FORM))
    return tuple(dict.fromkeys(piece for piece in pieces if len(piece) >= MIN_LENGTH))


def _forms(value: str) -> Iterator[str]:
    # The frame of a key block is no secret, and it is what the search for key blocks begins with.
    lines = [line.strip() for line in value.splitlines() if not line.startswith("-----")]
    for line in lines:
        yield from (line, json.dumps(line)[1:-1], json.dumps(line, ensure_ascii=False)[1:-1], repr(line)[1:-1])
        yield from (shlex.quote(line)[1:-1], json.dumps(line)[1:-1].replace("/", r"\/"))
    raw = value.encode("utf-8", "surrogateescape")
    plain = urllib.parse.quote(raw, safe="")
    strict = re.sub("[-._~]", lambda m: f"%{ord(m[0]):02X}", plain)
    for quoted in (plain, strict, urllib.parse.quote(raw, safe="/")):
        yield from (quoted, quoted.replace("%20", "+"), re.sub("%..", lambda m: m[0].lower(), quoted))
    yield from (raw.hex(), raw.hex().upper())
    yield from (base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode())
    for offset in range(3):
        # base64 inside something longer (`user:value`): only the characters that the neighbours have no part in.
        text = base64.b64encode(b"\0" * offset + raw).decode()
        text = text[(0, 2, 3)[offset] : (offset + len(raw)) * 8 // 6]
        for form in (text, text.replace("+", "-").replace("/", "_")):
            yield form
            yield from (form[i : i + _COLUMNS] for i in range(0, len(form), _COLUMNS) if len(form) > _COLUMNS)
