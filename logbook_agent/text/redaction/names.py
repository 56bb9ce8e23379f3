"""Which names hold secrets.

A name is cut into words at underscores, hyphens, dots and camelCase humps; it looks secret when

- a word is, or ends with, PASSWORD, PASSWD, PASSPHRASE, SECRET, APIKEY or TOKEN (PGPASSWORD), or is AUTH,
  CREDENTIAL(S), JWT or BEARER; TOKENS and TOKENIZERS are other words;
- KEY follows API, ACCESS, PRIVATE, SECRET, SIGNING, ENCRYPTION, MASTER or ACCOUNT;
- the last of several words is PWD or PAT, or PASS after a service (DB_PASS, but not BENCH_PASS), or it is pwd in
  other than capital letters, which are the working folder's;

a number behind a word, or its plural, makes no difference (PASSWORD2, api_keys),

unless its last word says that the value only describes or locates the secret (SSH_AUTH_SOCK, RAY_AUTH_MODE,
TOKEN_FILE), or TOKEN is a unit or a vocabulary item there (flops_per_token, eos_token).

Where the name goes on behind the word (token_mixer, access_key_pattern), the value must look like a secret, too: an
ordinary word is none, and under TOKEN, AUTH and CREDENTIAL twelve of its letters and digits in a row are mixed.

A value under such a name still is no secret when it is a quantity (12.3ms), a switch or null word, a reference such as
`$NAME`, a placeholder such as `<token>`, the name itself (`token=token`), a plain number under TOKEN or AUTH (a
count) or under a name that goes on behind the word (password_hashes_per_s), under PWD a path, or under AUTH and
CREDENTIAL a path or a word of less than eight characters.
"""

from __future__ import annotations

import functools
import re

_STRONG = ("PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "APIKEY", "CONTRASENA")
_OTHER_WORDS = ("SECRETAR", "SECRETE", "SECRETI", "SECRETLY", "SECRETSTORAGE")
_WEAK = frozenset({"AUTH", "CREDENTIAL", "CREDENTIALS", "JWT", "BEARER"})
KEY_KINDS = frozenset(
    {
        *("API", "ACCESS", "PRIVATE", "SECRET", "SIGNING", "ENCRYPTION", "MASTER", "ACCOUNT"),
        *("AUTH", "SERVICE", "DB", "DATABASE", "PRIV", "CLIENT", "SSH", "LICENSE", "STORAGE"),
        *("OPENAI", "WANDB", "ANTHROPIC", "MISTRAL", "GEMINI", "COHERE", "GROQ", "COMET", "NEPTUNE"),
    }
)
PASS_OWNERS = frozenset(
    {
        *("DB", "DATABASE", "MYSQL", "PG", "POSTGRES", "REDIS", "KEY", "SSH", "SMTP", "FTP", "MAIL", "EMAIL"),
        *("USER", "ADMIN", "ROOT", "PROXY"),
    }
)
TOKEN_UNITS = frozenset(
    {
        *("PER", "NUM", "MAX", "MIN", "FIRST", "LAST", "NEXT"),
        *("EOS", "BOS", "PAD", "UNK", "MASK", "SEP", "CLS", "SPECIAL"),
    }
)
_DESCRIBES = frozenset(
    {
        *("FILE", "PATH", "SOCK", "SOCKET", "DIR", "MODE", "TYPE", "KIND", "METHOD", "URL", "URI", "HOST", "PORT"),
        *("USER", "USERNAME", "NAME", "STDIN", "PROMPT", "CMD", "COMMAND", "HELPER", "PROVIDER", "PLUGIN", "SCHEME"),
        *("ENABLED", "DISABLED", "REQUIRED", "TIMEOUT", "TTL", "EXPIRY", "LENGTH", "LEN", "COUNT", "LIMIT", "SIZE"),
        *("ERROR", "EXCEPTION", "WARNING", "DTYPE", "DIM", "IDX", "INDEX", "BUDGET", "RATE"),
    }
)

_PLURAL = re.compile(r"(PASSWORD|PASSWD|PASSPHRASE|SECRET|KEY)S$")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BREAK = re.compile(r"[^A-Za-z0-9]+")
_NUMBER = re.compile(r"[-+]?[0-9][0-9_,]*(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?")
# 12.3ms: what was measured.
_QUANTITY = re.compile(
    r"[-+]?[0-9][0-9_,]*(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)? ?"
    r"(?:[num\u00b5]?s|min|h|[kKMGT]?i?[bB]|%|x|[kMG]?Hz|\w{1,6}/s)(?:/\w{1,8})?"
)
_VERSION = re.compile(r"v?[0-9]+(?:\.[0-9]+){1,4}[a-z0-9.+-]{0,16}")
_REFERENCE = re.compile(r"\$(?:[A-Za-z_]\w*|\{\{?[^}]*\}{0,2}|\(.*)|%[A-Za-z_]\w*%", re.DOTALL)
_PLACEHOLDER = re.compile(r"<[^>]*>?|\{[^}]*\}?|[*.xX…]+|\.\.\.")
_ATTRIBUTE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\.(\w+)")
_PATH = re.compile(r"(?:~|\.{1,2})?/[\w.@%+~-]+(?:/[\w.@%+~ -]+)*/?")
# A word of small letters, capitals and digits: no name of parts, no digest.
_MIXED = re.compile(r"(?<![A-Za-z0-9])(?=[A-Z0-9]*[a-z])(?=[a-z0-9]*[A-Z])(?=[A-Za-z]*[0-9])[A-Za-z0-9]{12,}", re.ASCII)
# A path below a home folder; a token of a tokenizer that begins a word.
_NO_SECRET = ("~/", "\u2581", "\u0120")
_SWITCHES = frozenset({"true", "false", "yes", "no", "on", "off", "none", "null", "nil", "unset", "undefined", "auto"})
_REDACTED = "[redacted:"

Names = frozenset[str]


@functools.lru_cache(maxsize=4096)
def secret_kind(name: str) -> str | None:
    """`password`, `secret`, `api-key`, `token` ... for a secret-looking name, else None."""
    words = _words(name)
    if not words or words[-1] in _DESCRIBES:
        return None
    for i, word in enumerate(words):
        before = words[i - 1] if i else ""
        for strong in _STRONG:
            if strong in word and not word.startswith(_OTHER_WORDS):
                return "api-key" if strong == "APIKEY" else "secret" if strong == "SECRET" else "password"
        if word.endswith("TOKEN") and before not in TOKEN_UNITS:
            return "token"
        if word == "KEY" and before in KEY_KINDS:
            return f"{before.lower()}-key"
        if word.endswith("KEY") and word[:-3] in KEY_KINDS:
            return f"{word[:-3].lower()}-key"
        if word in _WEAK and words[i + 1 : i + 2] != ["KEY"]:
            return "auth" if word == "AUTH" else "token" if word in ("JWT", "BEARER") else "credential"
    if words == ["PWD"] and name != "PWD":
        return "password"
    if len(words) > 1 and ("PWD" in words or words[-1] == "PW"):
        return "password"
    if words[-1].endswith("PWD") and words[-1] not in ("PWD", "OLDPWD"):
        return "password"
    if (len(words) > 1 and words[-1] in ("PAT", "PWD", "PASS")) or len(words[-1]) > 4:
        if words[-1] == "PAT":
            return "token"
        if _is_pass(words):
            return "password"
    return None


def _words(name: str) -> list[str]:
    """The words of a name in capital letters. A number behind one makes it no other, nor does a plural but of TOKEN."""
    words = [w.rstrip("0123456789") for w in _BREAK.split(_HUMP.sub("_", name).upper())]
    return [_PLURAL.sub(r"\1", w) for w in words if w]


def is_told_by_its_end(name: str) -> bool:
    """Whether the name ends with what makes it a secret's, and with no number: `hf_token`, not `token_mixer`."""
    return last_kind(name) is not None and not name[-1:].isdigit()


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
    """`[redacted:KIND]`, which replaces a secret without a variable's name."""
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


def looks_secret(value: str) -> bool:
    """Whether a value is more than an ordinary lower-case word: it has a digit, mixed case or a special sign, or is
    long."""
    return len(value) >= 20 or re.fullmatch(r"[A-Z]?[a-z]+(?:[-_ ,./][a-z]+)*[:.,]?|[A-Z_]+", value) is None


def is_plain(value: str) -> bool:
    """Whether a value is a version, a path or a measured quantity."""
    return any(form.fullmatch(value) is not None for form in (_VERSION, _PATH, _QUANTITY, _NUMBER))


def _looks_like(name: str, kind: str, value: str) -> bool:
    """Whether a value looks like a secret under a name that goes on after the secret-looking word, such as
    `token_mixer`; a number behind the word (`token_2`) makes it no other."""
    if kind in ("token", "auth", "credential"):
        is_numbered = last_kind(name.rstrip("_-0123456789")) is not None
        return (len(value) >= 16 and any(c.isdigit() for c in value)) if is_numbered else bool(_MIXED.search(value))
    return looks_secret(value) and _VERSION.fullmatch(value) is None


def is_secret_value(name: str, kind: str, value: str) -> bool:
    """Whether a value under a secret-looking name is worth hiding; the exceptions stand above."""
    if is_reference(value) or value.lower() in _SWITCHES:
        return False
    plain, own = value.upper().replace("-", "_"), name.upper().replace("-", "_")
    attribute = _ATTRIBUTE.fullmatch(value)
    if own == plain or own.endswith("_" + plain) or (attribute is not None and is_secret_name(attribute[1])):
        return False
    if _QUANTITY.fullmatch(value) is not None or value.startswith(_NO_SECRET):
        return False
    if not is_told_by_its_end(name) and is_secret_name(name) and not _looks_like(name, kind, value):
        return False
    if own.endswith("PAT") and not _looks_like(name, kind, value):
        return False  # access_pat=stride-16
    if _NUMBER.fullmatch(value) is not None and (kind in ("token", "auth") or last_kind(name) is None):
        return False
    if own.endswith("PWD") and _PATH.fullmatch(value) is not None:
        return False
    if kind in ("auth", "credential"):
        return len(value) >= 8 and _PATH.fullmatch(value) is None
    return True
