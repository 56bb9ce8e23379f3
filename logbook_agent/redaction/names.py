"""Which names hold secrets.

A name is cut into words at underscores, hyphens, dots and camelCase humps; it looks secret when

- a word is, or ends with, PASSWORD, PASSWD, PASSPHRASE, SECRET, APIKEY or TOKEN (PGPASSWORD), or is AUTH,
  CREDENTIAL(S), JWT or BEARER; TOKENS and TOKENIZERS are other words;
- KEY follows API, ACCESS, PRIVATE, SECRET, SIGNING, ENCRYPTION, MASTER or ACCOUNT;
- the last of several words is PWD or PAT, or PASS after a service (DB_PASS, but not BENCH_PASS), or it is pwd in
  other than capital letters, which are the working folder's;

unless its last word says that the value only describes or locates the secret (SSH_AUTH_SOCK, RAY_AUTH_MODE,
TOKEN_FILE), or TOKEN is a unit or a vocabulary item there (flops_per_token, eos_token).

A value under such a name still is no secret when it is a switch or null word, a reference such as `$NAME`,
a placeholder such as `<token>`, the name itself (`token=token`), a plain number under TOKEN or AUTH (a
count) or under a name that goes on behind the word (password_hashes_per_s), under PWD a path, or under AUTH and
CREDENTIAL a path or a word of less than eight characters.
"""

from __future__ import annotations

import functools
import re

_STRONG = ("PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "APIKEY", "CONTRASENA")
_WEAK = frozenset({"AUTH", "CREDENTIAL", "CREDENTIALS", "JWT", "BEARER"})
KEY_KINDS = frozenset(
    {
        *("API", "ACCESS", "PRIVATE", "SECRET", "SIGNING", "ENCRYPTION", "MASTER", "ACCOUNT"),
        *("AUTH", "SERVICE", "DB", "DATABASE", "PRIV", "CLIENT", "SSH", "LICENSE", "STORAGE"),
    }
)
PASS_OWNERS = frozenset(
    {
        "DB",
        "DATABASE",
        "KEY",
        "SSH",
        "SMTP",
        "MYSQL",
        "PG",
        "POSTGRES",
        "REDIS",
        "FTP",
        "MAIL",
        "EMAIL",
        "USER",
        "ADMIN",
        "ROOT",
        "PROXY",
    }
)
_TOKEN_UNITS = frozenset(
    {
        "PER",
        "EOS",
        "BOS",
        "PAD",
        "UNK",
        "MASK",
        "SEP",
        "CLS",
        "NEXT",
        "SPECIAL",
        "NUM",
        "MAX",
        "MIN",
        "FIRST",
        "LAST",
    }
)
_DESCRIBES = frozenset(
    {
        *(
            "FILE",
            "PATH",
            "SOCK",
            "SOCKET",
            "DIR",
            "MODE",
            "TYPE",
            "KIND",
            "METHOD",
            "URL",
            "URI",
            "HOST",
            "PORT",
        ),
        *(
            "USER",
            "USERNAME",
            "NAME",
            "STDIN",
            "PROMPT",
            "CMD",
            "COMMAND",
            "HELPER",
            "PROVIDER",
            "PLUGIN",
            "SCHEME",
        ),
        *(
            "ENABLED",
            "DISABLED",
            "REQUIRED",
            "TIMEOUT",
            "TTL",
            "EXPIRY",
            "LENGTH",
            "LEN",
            "COUNT",
            "LIMIT",
            "SIZE",
        ),
        *("ERROR", "EXCEPTION", "WARNING"),
        *("DTYPE", "DIM", "IDX", "INDEX", "BUDGET", "RATE"),
    }
)

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BREAK = re.compile(r"[^A-Za-z0-9]+")
_NUMBER = re.compile(r"[-+]?[0-9][0-9_,]*(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?")
_REFERENCE = re.compile(r"\$(?:[A-Za-z_]\w*|\{[^}]*\}?|\(.*)|%[A-Za-z_]\w*%", re.DOTALL)
_PLACEHOLDER = re.compile(r"<[^>]*>?|\{[^}]*\}?|[*.xX…]+|\.\.\.")
_ATTRIBUTE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\.(\w+)")
_PATH = re.compile(r"(?:~|\.{1,2})?/[\w.@%+~-]+(?:/[\w.@%+~ -]+)*/?")
_SWITCHES = frozenset({"true", "false", "yes", "no", "on", "off", "none", "null", "nil", "unset", "undefined", "auto"})
# Any secret-looking name has one of these in it.
NAME_PARTS = ("token", "secret", "pass", "key", "auth", "credential", "jwt", "bearer", "pwd", "pat", "contrasena")
_REDACTED = "[redacted:"

Names = frozenset[str]


@functools.lru_cache(maxsize=4096)
def secret_kind(name: str) -> str | None:
    """`password`, `secret`, `api-key`, `token` ... for a secret-looking name, else None."""
    words = [w for w in _BREAK.split(_HUMP.sub("_", name).upper()) if w]
    if not words or words[-1] in _DESCRIBES:
        return None
    for i, word in enumerate(words):
        before = words[i - 1] if i else ""
        for strong in _STRONG:
            if word.endswith(strong):
                return "api-key" if strong == "APIKEY" else "secret" if strong == "SECRET" else "password"
        if word.endswith("TOKEN") and before not in _TOKEN_UNITS:
            return "token"
        if word == "KEY" and before in KEY_KINDS:
            return f"{before.lower()}-key"
        if word.endswith("KEY") and word[:-3] in KEY_KINDS:
            return f"{word[:-3].lower()}-key"
        if word in _WEAK and words[i + 1 : i + 2] != ["KEY"]:
            return "auth" if word == "AUTH" else "token" if word in ("JWT", "BEARER") else "credential"
    if words == ["PWD"] and name != "PWD":
        return "password"
    if (len(words) > 1 and words[-1] in ("PAT", "PWD", "PASS")) or len(words[-1]) > 4:
        if words[-1] == "PAT":
            return "token"
        if words[-1] == "PWD" or _is_pass(words):
            return "password"
    return None


def _is_pass(words: list[str]) -> bool:
    last = words[-1]
    return last.endswith("PASS") and (last[:-4] or words[-2]) in PASS_OWNERS


def label_kind(label: str, text: str) -> str | None:
    """The kind of secret that a label of prose announces with its last words, if the text can be one: `API key` and a
    word, not `Password policy` and not a sentence about tokens."""
    kind = last_kind("_".join(re.findall(r"[A-Za-z0-9.-]+", label)))
    if kind is None:
        return None
    most = 1 if kind in ("token", "auth", "credential") else 6
    return kind if len(text.split()) <= most and is_secret_value(label, kind, text.strip()) else None


def last_kind(name: str) -> str | None:
    """The kind of secret that the end of a name tells: `db_password` and `api_key`, not `password_hashes_per_s`."""
    *_, before, last = ["", "", *(w for w in _BREAK.split(_HUMP.sub("_", name)) if w)]
    return secret_kind(last) or (secret_kind(f"{before}_{last}") if secret_kind(before) is None else None)


def is_secret_name(name: str) -> bool:
    return secret_kind(name) is not None


def kind_of(name: str, extra: Names) -> str | None:
    return secret_kind(name) or ("secret" if name in extra else None)


def mark(kind: str) -> str:
    """What a secret becomes that has no variable's name."""
    return f"{_REDACTED}{kind}]"


def is_reference(value: str) -> bool:
    """Whether the value stands for a secret without being one: redacted already, `$NAME`, `<token>`."""
    value = value.strip("\"'\\")
    return (
        not value
        or value.startswith(_REDACTED)
        or _REFERENCE.fullmatch(value) is not None
        or _PLACEHOLDER.fullmatch(value) is not None
    )


def is_secret_value(name: str, kind: str, value: str) -> bool:
    """Whether a value under a secret-looking name is worth hiding; the exceptions stand above."""
    if is_reference(value) or value.lower() in _SWITCHES:
        return False
    plain, own = value.upper().replace("-", "_"), name.upper().replace("-", "_")
    attribute = _ATTRIBUTE.fullmatch(value)
    if own == plain or own.endswith("_" + plain) or (attribute is not None and is_secret_name(attribute[1])):
        return False
    if _NUMBER.fullmatch(value) is not None and (kind in ("token", "auth") or last_kind(name) is None):
        return False
    if own.endswith("PWD") and _PATH.fullmatch(value) is not None:
        return False
    if kind in ("auth", "credential"):
        return len(value) >= 8 and _PATH.fullmatch(value) is None
    return True
