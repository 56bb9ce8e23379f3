"""Secrets of every kind, made up at run time from a seed: no text of this repository looks like a secret.

A `Kind` makes a value and the text in which it is told. Prefixes are put together from parts, so that a scanner of this
file finds nothing either.
"""

from __future__ import annotations

import base64
import string
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

LETTERS = string.ascii_letters
ALNUM = LETTERS + string.digits
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"
URL = ALNUM + "_-"
BASE64 = ALNUM + "+/"
BECH32 = "023456789ACDEFGHJKLMNPQRSTUVWXYZ"


class Maker:
    """Draws parts of secrets; the same seed gives the same parts."""

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)

    def of(self, letters: str, length: int) -> str:
        """Such a word, with a digit and a letter in it, that begins and ends with neither sign."""
        drawn = self._random.choices(letters, k=length)
        plain = [c for c in letters if c.isalnum()]
        drawn[0], drawn[-1] = self._random.choices(plain, k=2)
        drawn[length // 2] = self._random.choice([c for c in plain if c.isdigit()])
        drawn[length // 3] = self._random.choice([c for c in plain if c.isalpha()])
        return "".join(drawn)

    def pick(self, letters: str) -> str:
        return self._random.choice(letters)

    def word(self) -> str:
        """A password as people choose them: nothing in it tells what it is."""
        return f"{self.of(string.ascii_lowercase + string.digits, 6)}-{self.of(ALNUM, 9)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of secret. `make` gives a text in which it stands, with the secret between two marks (see `Sample`).

    `rule` is the ID of the rule that knows it, None where its name or its variable tells it.
    """

    id: str
    rule: str | None
    make: Callable[[Maker], str]

    def sample(self, place: str = "") -> Sample:
        """An example; the seed is the kind and the place, so that a leak names both."""
        told = self.make(Maker(f"{self.id} {place}"))
        if OPEN not in told:
            told = f"{OPEN}{told}{CLOSE}"
        parts = told.replace(CLOSE, OPEN).split(OPEN)
        return Sample(kind=self, text="".join(parts), secrets=tuple(parts[1::2]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A text, and the parts of it that may appear nowhere."""

    kind: Kind
    text: str
    secrets: tuple[str, ...]

    @property
    def fragments(self) -> tuple[str, ...]:
        """What must not be found: each secret, its lines, and a piece from the middle of a long one."""
        found = []
        for secret in self.secrets:
            lines = [line.strip() for line in secret.split("\n") if len(line.strip()) >= 8 and "-----" not in line]
            found += lines
            found += [line[len(line) // 3 :][:16] for line in lines if len(line) >= 32 and "KEY" not in line]
        return tuple(found)


OPEN, CLOSE = "\x01", "\x02"


def _s(secret: str) -> str:
    """The secret part of a longer text."""
    return f"{OPEN}{secret}{CLOSE}"


def _shape(id_: str, rule: str, make: Callable[[Maker], str]) -> Kind:
    return Kind(id=id_, rule=rule, make=make)


def _prefixed(rule: str, *prefixes: str, letters: str = ALNUM, length: int = 36) -> list[Kind]:
    """Kinds that are a prefix and so many letters. `|` in a prefix is where this file breaks it."""
    return [
        _shape(f"{rule} {p.replace('|', '')}", rule, lambda m, p=p: p.replace("|", "") + m.of(letters, length))  # type: ignore[misc]
        for p in prefixes
    ]


def _jwt(m: Maker) -> str:
    parts = ['{"alg":"HS256","typ":"JWT"}', f'{{"sub":"{m.of(LOWER, 12)}"}}']
    head, body = (base64.urlsafe_b64encode(p.encode()).decode().rstrip("=") for p in parts)
    return f"{head}.{body}.{m.of(URL, 43)}"


# One word, which tells by its shape what it is.
TOKENS: tuple[Kind, ...] = (
    _shape("age", "age-key", lambda m: "AGE-SEC" + "RET-KEY-1" + m.of(BECH32, 58)),
    *_prefixed("github-token", "gh|p_", "gh|o_", "gh|u_", "gh|s_", "gh|r_"),
    *_prefixed("github-token", "github|_pat_", letters=ALNUM + "_", length=82),
    *_prefixed("gitlab-token", "gl|pat-", "gl|dt-", "gl|ft-", "gl|soat-", "gl|rt-", letters=URL, length=20),
    *_prefixed("gitlab-token", "glc|bt-64_", "gl|ptt-", "gl|agent-", "glo|as-", letters=URL, length=64),
    *_prefixed("gitlab-token", "GR|1348941", letters=URL, length=20),
    *_prefixed("bitbucket-token", "AT|ATT3x", "AT|CTT3x", letters=ALNUM, length=80),
    *_prefixed("npm-token", "np|m_"),
    *_prefixed("pypi-token", "py|pi-AgEIcHlwaS5vcmc", letters=URL, length=90),
    *_prefixed("docker-token", "dckr|_pat_", "dckr|_oat_", letters=URL, length=27),
    *_prefixed("jfrog-token", "AKC|p", length=68),
    *_prefixed("huggingface-token", "h|f_", "api|_org_", length=34),
    *_prefixed("anthropic-key", "sk|-ant-api03-", letters=URL, length=90),
    *_prefixed("openai-key", "sk|-", "sk|-proj-", "sk|-svcacct-", length=48),
    _shape("openai-t3", "openai-key", lambda m: "sk" + "-" + m.of(ALNUM, 20) + "T3Blbk" + "FJ" + m.of(ALNUM, 20)),
    *_prefixed("groq-key", "gs|k_", length=52),
    *_prefixed("xai-key", "xa|i-", length=80),
    *_prefixed("perplexity-key", "pp|lx-", length=48),
    *_prefixed("replicate-token", "r|8_", length=37),
    *_prefixed("fireworks-key", "f|w_", length=24),
    *_prefixed("nvidia-key", "nv|api-", letters=URL, length=64),
    *_prefixed("wandb-key", "wandb|_v1_", letters=ALNUM + "_", length=60),
    *_prefixed("aws-key-id", "AK|IA", "AS|IA", "AB|IA", letters=UPPER, length=16),
    *_prefixed("google-key", "AI|za", letters=URL, length=35),
    *_prefixed("google-key", "GOC|SPX-", letters=URL, length=28),
    *_prefixed("google-key", "ya|29.", "A|Q.Ab8", "1/|/0", letters=URL, length=50),
    _shape("azure-entra", "azure-secret", lambda m: m.of(ALNUM, 3) + "8Q" + "~" + m.of(ALNUM, 34)),
    *_prefixed("databricks-token", "da|pi", letters=HEX, length=32),
    *_prefixed("digitalocean-token", "do|p_v1_", "do|o_v1_", letters=HEX, length=64),
    *_prefixed("vault-token", "hv|s.", "hv|b.", letters=URL, length=90),
    _shape("terraform", "terraform-token", lambda m: m.of(ALNUM, 14) + ".atlas" + "v1." + m.of(ALNUM, 66)),
    *_prefixed("alibaba-key-id", "LT|AI", letters=ALNUM, length=20),
    *_prefixed("planetscale-token", "pscale|_tkn_", "pscale|_pw_", length=43),
    *_prefixed("fly-token", "fo|1_", letters=ALNUM, length=43),
    *_prefixed("slack-token", "xo|xb-123456789012-", "xo|xp-", "xo|xe.xoxp-1-", "xa|pp-1-A0123456789-", length=40),
    _shape("slack-hook", "slack-webhook", lambda m: "https://" + _s("hooks.sl" + "ack.com/services/T0AB/B0CD/" + m.of(ALNUM, 24))),
    _shape("discord", "discord-token", lambda m: "M" + m.of(ALNUM, 24) + "." + m.of(ALNUM, 6) + "." + m.of(URL, 38)),
    _shape("discord-hook", "discord-webhook", lambda m: "https://" + _s("disc" + "ord.com/api/webhooks/123456789012345678/" + m.of(URL, 68))),
    _shape("teams-hook", "teams-webhook", lambda m: "https://" + _s("acme.web" + "hook.office.com/webhookb2/" + m.of(HEX, 32) + "@" + m.of(HEX, 32))),
    _shape("telegram", "telegram-token", lambda m: m.of(string.digits + "a", 1)[:0] + "1234567890"[:9] + ":AA" + m.of(URL, 33)),
    *_prefixed("twilio-key", "S|K", "A|C", letters=HEX, length=32),
    _shape("sendgrid", "sendgrid-key", lambda m: "SG" + "." + m.of(URL, 22) + "." + m.of(URL, 43)),
    _shape("mailchimp", "mailchimp-key", lambda m: m.of(HEX, 32) + "-us" + "14"),
    *_prefixed("stripe-key", "sk|_live_", "rk|_live_", "sk|_test_", "whs|ec_", length=32),
    *_prefixed("square-token", "sq0|csp-", "sq0|atp-", letters=URL, length=43),
    *_prefixed("linear-key", "lin|_api_", "lin|_oauth_", length=40),
    *_prefixed("notion-token", "nt|n_", "secr|et_", length=43),
    *_prefixed("figma-token", "fig|d_", letters=URL, length=43),
    *_prefixed("grafana-token", "gl|sa_", "gl|c_", length=44),
    *_prefixed("sentry-token", "sntr|ys_", "sntr|yu_", length=64),
    *_prefixed("newrelic-key", "NR|AK-", letters=UPPER, length=27),
    _shape("postman", "postman-key", lambda m: "PM" + "AK-" + m.of(HEX, 24) + "-" + m.of(HEX, 34)),
    *_prefixed("shopify-token", "shp|at_", "shp|ss_", letters=HEX, length=32),
    *_prefixed("supabase-key", "sb|p_", "sb|_secret_", length=40),
    *_prefixed("pulumi-token", "pu|l-", letters=HEX, length=40),
    *_prefixed("prefect-key", "pn|u_", length=36),
    _shape("1password", "onepassword-token", lambda m: "A3" + "-" + m.of(UPPER, 6) + "-" + "-".join(m.of(UPPER, 5) for _ in range(5))),
    *_prefixed("tailscale-key", "ts|key-auth-", letters=URL, length=40),
    _shape("jwt", "jwt", _jwt),
)  # fmt: skip


def _key(frame: str, line: Callable[[Maker], str], *, head: str = "") -> Callable[[Maker], str]:
    def make(m: Maker) -> str:
        lines = "\n".join(line(m) for _ in range(4))
        return f"-----BEGIN {frame}-----\n{head}{_s(lines)}\n-----END {frame}-----"

    return make


def _body(m: Maker) -> str:
    return m.of(BASE64, 64)


_PRIVATE = "PRI" + "VATE KEY"


def _putty(m: Maker) -> str:
    return (
        "PuTTY-User-" + "Key-File-3: ssh-ed25519\nEncryption: none\nComment: me@host\nPublic-Lines: 1\n"
        f"AAAAC3NzaC1lZDI1NTE5AAAA\nPrivate-Lines: 2\n{_s(m.of(BASE64, 64))}\n{_s(m.of(BASE64, 43))}=\n"
        f"Private-MAC: {m.of(HEX, 64)}"
    )


KEYS: tuple[Kind, ...] = (
    *(
        _shape(f"pem {name}".strip().lower(), "private-key", _key(f"{name} {_PRIVATE}".strip(), _body))
        for name in ("", "RSA", "EC", "DSA", "OPENSSH", "ENCRYPTED")
    ),
    _shape("pem headers", "private-key", _key(f"RSA {_PRIVATE}", _body, head="Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\n")),
    _shape("pgp", "private-key", _key(f"PGP {_PRIVATE} BLOCK", _body, head="Version: GnuPG v2\n\n")),
    _shape("ssh2", "private-key", lambda m: _key(f"SSH2 ENCRYPTED {_PRIVATE}", _body)(m).replace("-----", "---- ").replace(" \n", "\n")),
    _shape("putty", "private-key", _putty),
)  # fmt: skip

# Phrases of one line that tell what they hold.
PHRASES: tuple[Kind, ...] = (
    _shape("netrc", "password", lambda m: f"machine api.example.org login me password {_s(m.word())}"),
    _shape("netrc account", "password", lambda m: f"machine h login me account a password {_s(m.word())}"),
    _shape("cookie", "cookie", lambda m: f"Cookie: {_s('session=' + m.of(ALNUM, 24) + '; csrf=' + m.of(HEX, 32))}"),
    _shape("set-cookie", "cookie", lambda m: f"Set-Cookie: {_s('sid=' + m.of(ALNUM, 24))}; Path=/; HttpOnly"),
    _shape("bearer header", "auth", lambda m: f"Authorization: Bearer {_s(m.of(ALNUM, 40))}"),
    _shape("basic header", "auth", lambda m: f"Authorization: Basic {_s(base64.b64encode(('me:' + m.word()).encode()).decode())}"),
    _shape("bearer", "auth", lambda m: f"bearer {_s(m.of(ALNUM, 40))}"),
    _shape("password is:", "password", lambda m: f"password is: {_s(m.word())}"),
    _shape("the password was", "password", lambda m: f"the password was {_s(m.word())}"),
    _shape("url", "credentials", lambda m: f"https://{_s('me:' + m.word())}@example.org/x"),
    _shape("postgres", "credentials", lambda m: f"postgresql://{_s('app:' + m.word())}@db.example.org:5432/runs"),
    _shape("redis", "credentials", lambda m: f"redis://{_s(':' + m.word())}@cache:6379/0"),
    _shape("mongodb", "credentials", lambda m: f"mongodb+srv://{_s('root:' + m.word())}@c0.example.net/db?w=majority"),
    _shape("npmrc", "npm-token", lambda m: f"//registry.example.org/:_authToken={_s(m.of(ALNUM, 36))}"),
    _shape("azure sas", "signature", lambda m: f"https://a.blob.core.windows.net/c?sv=2024&sig={_s(m.of(ALNUM, 43))}%3D"),
    _shape("s3 link", "signature", lambda m: f"https://b.s3.amazonaws.com/k?X-Amz-Date=2026&X-Amz-Signature={_s(m.of(HEX, 64))}"),
    _shape("gcs link", "signature", lambda m: f"https://storage.googleapis.com/b/k?X-Goog-Signature={_s(m.of(HEX, 256))}"),
    _shape("pgpass", "password", lambda m: f"db.example.org:5432:runs:app:{_s(m.word())}"),
    _shape("jwk", "private-key", lambda m: f'{{"kty":"EC","crv":"P-256","d":"{_s(m.of(URL, 43))}"}}'),
    _shape("azure storage", "azure-key", lambda m: f"AccountName=a;Account{''}Key={_s(m.of(BASE64, 86) + '==')};EndpointSuffix=x"),
    _shape("aws secret", "aws-secret-key", lambda m: f'aws pw: "{_s(m.of(BASE64, 40))}"'),
    _shape("wandb login", "api-key", lambda m: f"wandb login {_s(m.of(HEX, 40))}"),
    _shape("odbc", None, lambda m: f"Driver=X;Server=db;Uid=me;Pwd={_s(m.word())};"),
    _shape("jdbc", None, lambda m: f"jdbc:postgresql://db/x?user=me&password={_s(m.word())}&ssl=true"),
    _shape("query", None, lambda m: f"https://api.example.org/v1?access_token={_s(m.of(ALNUM, 30))}&n=1"),
    _shape("json", None, lambda m: f'{{"user": "me", "password": "{_s(m.word())}"}}'),
    _shape("escaped json", None, lambda m: f'"{{\\"client_secret\\": \\"{_s(m.word())}\\"}}"'),
    _shape("dict", None, lambda m: f"{{'db_password': '{_s(m.word())}', 'n': 1}}"),
    _shape("yaml", None, lambda m: f"api_key: {_s(m.word())}"),
    _shape("toml", None, lambda m: f'client_secret = "{_s(m.word())}"'),
    _shape("ini", None, lambda m: f"password={_s(m.word())}"),
    _shape("shell", None, lambda m: f"export DB_PASSWORD='{_s(m.word())}'"),
    _shape("dockerfile", None, lambda m: f"ENV API_TOKEN={_s(m.word())}"),
    _shape("k8s", None, lambda m: f"- {{name: DB_PASSWORD, value: {_s(m.word())}}}"),
    _shape("k8s json", None, lambda m: f'{{"name": "WANDB_API_KEY", "value": "{_s(m.of(HEX, 40))}"}}'),
    _shape("-e pair", None, lambda m: f"tools/launch.py -e HF_TOKEN {_s(m.word())} -- python x.py"),
    _shape("--env-var pair", None, lambda m: f"ray submit --env-var WANDB_API_KEY {_s(m.of(HEX, 40))} x.py"),
    _shape("-e assigned", None, lambda m: f"docker run -e DB_PASSWORD={_s(m.word())} img"),
    _shape("--token", None, lambda m: f"x --token {_s(m.word())} --n 1"),
    _shape("--api-key=", None, lambda m: f"x --api-key={_s(m.word())} --n 1"),
    _shape("x-api-key", None, lambda m: f"curl -H 'X-Api-Key: {_s(m.word())}' https://h"),
    _shape("leading word", None, lambda m: f"MY_TOKEN={_s(m.word())} python x.py"),
    _shape("python", None, lambda m: f'hub_token = "{_s(m.word())}"'),
    _shape("compared", None, lambda m: f'if "{_s(m.word())}" == db_password:'),
    _shape("wireguard", None, lambda m: f"PrivateKey = {_s(m.of(BASE64, 42) + 'E=')}"),
    _shape("curl -u", "credentials", lambda m: f"curl -u admin:{_s(m.word())} https://h/x"),
    _shape("sshpass", "password", lambda m: f"sshpass -p {_s(m.word())} ssh me@h"),
)  # fmt: skip

# Text of several lines.
BLOCKS: tuple[Kind, ...] = (
    _shape("netrc lines", "password", lambda m: f"machine api.example.org\n  login me\n  password {_s(m.word())}\n"),
    _shape("netrc margin", "password", lambda m: f"machine api.example.org\nlogin me\npassword {_s(m.word())}\n"),
    _shape("k8s lines", None, lambda m: f"env:\n- name: DB_PASSWORD\n  value: {_s(m.word())}\n"),
    _shape("yaml lines", None, lambda m: f"db:\n  user: me\n  password: {_s(m.word())}\n"),
    _shape("json lines", None, lambda m: f'{{\n "name": "DB_PASSWORD",\n "value": "{_s(m.word())}"\n}}'),
    _shape("ini lines", None, lambda m: f"[default]\naws_access_key_id = x\naws_secret_access_key = {_s(m.of(BASE64, 40))}\n"),
    _shape("shell continued", None, lambda m: f"run --topk 2 \\\n  --api-key \\\n  {_s(m.word())} \\\n  --n 1\n"),
)  # fmt: skip

ALL: tuple[Kind, ...] = (*TOKENS, *KEYS, *PHRASES, *BLOCKS)

# Forms in which the value of a variable with a secret's name is hidden wherever it is printed.
FORMS: dict[str, Callable[[str], str]] = {
    "plain": lambda v: v,
    "base64": lambda v: base64.b64encode(v.encode()).decode(),
    "base64 of user:value": lambda v: base64.b64encode(f"me:{v}".encode()).decode(),
    "url-safe base64": lambda v: base64.urlsafe_b64encode(v.encode()).decode(),
    "percent": lambda v: "".join(c if c.isalnum() else f"%{ord(c):02X}" for c in v),
    "hex": lambda v: v.encode().hex(),
    "HEX": lambda v: v.encode().hex().upper(),
}
