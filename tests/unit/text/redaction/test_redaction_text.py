"""Secrets in text, argument vectors and mappings; and ordinary text that must not change."""

from __future__ import annotations

import base64
import time
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.text.redaction.names import Secret, is_secret_name, secrets_in
from logbook_agent.text.redaction.redactor import Redactor
from logbook_agent.text.redaction.shapes import Rule
from logbook_agent.text.redaction.stream import StreamRedactor
from tests.breadth import examples
from tests.contract.text.redaction.kinds_support import ALL

PLAIN = Redactor()

SHAPES = [
    ("Authorization: Bearer abc.def", "Authorization: Bearer [redacted:auth]"),
    ("authorization: token abcdef", "authorization: token [redacted:auth]"),
    ('{"Authorization": "Bearer ab", "n": 1}', '{"Authorization": "Bearer [redacted:auth]", "n": 1}'),
    ('"{\\"Authorization\\": \\"Bearer ab\\"}"', '"{\\"Authorization\\": \\"Bearer [redacted:auth]\\"}"'),
    ("sent Bearer abcdefghijklmnop1", "sent Bearer [redacted:auth]"),
    ("X-Api-Key: abc", "X-Api-Key: [redacted:api-key]"),
    ("-H 'PRIVATE-TOKEN: abc'", "-H 'PRIVATE-TOKEN: [redacted:token]'"),
    ("run --token abc --topk 2", "run --token [redacted:token] --topk 2"),
    ("run --password=a,b --topk 2", "run --password=[redacted:password] --topk 2"),
    ('--api-key "a b c" x', '--api-key "[redacted:api-key]" x'),
    ("HF_TOKEN=abc python x.py", "HF_TOKEN=$HF_TOKEN python x.py"),
    ("export DB_PASSWORD='a b'", "export DB_PASSWORD='$DB_PASSWORD'"),
    ('cmd="PGPASSWORD=abc psql"', 'cmd="PGPASSWORD=$PGPASSWORD psql"'),
    ('{"client_secret": "abc"}', '{"client_secret": "[redacted:secret]"}'),
    ('{"password": "a\\"b c", "n": 1}', '{"password": "[redacted:password]", "n": 1}'),
    ("{'apiKey': 'abc'}", "{'apiKey': '[redacted:api-key]'}"),
    ("api_key=" + "0123456789abcdef" * 2 + "01234567", "api_key=[redacted:api-key]"),
    ("DB_PASSWORD: hunter2 ok", "DB_PASSWORD: $DB_PASSWORD ok"),
    ("args[password]: hunter22x", "args[password]: [redacted:password]"),
    ("password: admin@123456789 ok", "password: [redacted:password] ok"),
    ('if token == "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw": x()', 'if token == "[redacted:token]": x()'),
    ("https://me:pw@host/x", "https://[redacted:credentials]@host/x"),
    ("postgres://me:p@ss@host:5432/db", "postgres://[redacted:credentials]@host:5432/db"),
    ("wandb login " + "0123456789abcdef" * 2 + "01234567", "wandb login [redacted:api-key]"),
]


@pytest.mark.parametrize(("text", "safe"), SHAPES)
def test_shapes(text: str, safe: str) -> None:
    assert PLAIN.text(text) == safe


ORDINARY = [
    "RESULT tokens=32768 hidden=2048 flops_per_token=12884901888 time_ms=12.34 tflops=192.868",
    "commit 0123456789abcdef0123456789abcdef01234567 (HEAD -> main)",
    "sha256:" + "0123456789abcdef" * 4,
    "RAY_AUTH_MODE=token uv run scripts/ray/dev_tpu.py --tpu-name x execute -- python bench.py",
    "TOKENIZERS_PARALLELISM=false num_tokens=128 max_tokens: 4096 use_auth_token=True",
    "eos_token=</s> pad_token='<pad>' token_dtype=bfloat16",
    "token: what the router sends; the secret: tune it. Authorization: required",
    "token = tokenizer.next() and token=os.environ['X'] and f(token=token, password=self.password)",
    'HF_TOKEN=$HF_TOKEN GH_TOKEN="${GH_TOKEN}" --token $TOKEN --token "$(cat x)" --password <password>',
    '-TOKEN = re.compile("a+")\n+TOKEN = re.compile("b+")',
    "usage: x [--token TOKEN] [--api-key KEY] --password-stdin --token-file f",
    "git clone ssh://git@github.com/x/y https://host:8080/a@b",
    "disk-parallel-something-long task-specific-module-name-here hf_model npm_config_x sk-learn-is-a-library",
    "-----BEGIN CERTIFICATE-----",
    "docker://ubuntu:22.04@sha256:0123abcd",
    "author=somebody keyboard=us monkey: 1 secretary=x cache_key=abc bench_pass=forward_backward",
    "----- path=/home/me/x pwd=/home/me GOOGLE_APPLICATION_CREDENTIALS=/home/me/key.json",
    "T-000 run 1 [secret]: finished in 0.02 s; [token]: dropped 12 of 4096",
    "ssh_key: ~/.ssh/id_ed25519 top token=\u2581hello token: \u0120world",
    "Hypothesis: per-token routing; SSH_AUTH_SOCK=/tmp/ssh-abc/agent.12",
    "Token by token: WORK+9f6d9bb has 70% less than main@3f2a9c01d, key: fast@3f2a9c01d, token: 3f2a9c01d+aa3e720",
    "if token == 'bf16[128,256]{1,0}' or token != '--max_seq_len=4096': x()",
    "if token[0] == \"[\" or token == '},': x(); if token != \"end_of_line\": y(); if self.token === 'else': z()",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert PLAIN.text(text) == text
    assert PLAIN.argv(["bash", "-lc", text]) == ("bash", "-lc", text)


KEY = "-----BEGIN RSA PRI" + "VATE KEY-----\nMIIEpAIBAAKCAQEA0\nabcd+/efgh==\n-----END RSA PRI" + "VATE KEY-----"


def test_key_blocks() -> None:
    assert PLAIN.text(f"a\n{KEY}\nb") == "a\n[redacted:private-key]\nb"
    assert PLAIN.text(f"x: '{KEY}', more") == "x: '[redacted:private-key]', more"
    one_line = '{"k": "' + KEY.replace("\n", "\\n") + '"}'
    assert PLAIN.text(one_line) == '{"k": "[redacted:private-key]"}'
    headed = KEY.replace("MIIE", "Proc-Type: 4,ENCRYPTED\n\nMIIE")
    assert PLAIN.text(f"{headed}\nb") == "[redacted:private-key]\nb"
    prefixed = "\n".join(f"(pid=1) {line}" for line in KEY.replace("abcd", "abcd" * 5).split("\n"))
    assert PLAIN.text(f"{prefixed}\nb") == "(pid=1) [redacted:private-key]\nb"


def test_key_block_without_end_does_not_swallow_the_rest() -> None:
    cut = KEY.split("\n-----END")[0]
    assert PLAIN.text(f"{cut}\nstep 1: loss 3.2\nstep 2") == "[redacted:private-key]\nstep 1: loss 3.2\nstep 2"


@pytest.mark.parametrize(
    "name",
    [
        *("GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "PGPASSWORD", "WANDB_API_KEY", "OPENAI_APIKEY"),
        *("X_PRIVATE_KEY", "SSH_PASSPHRASE", "DB_PASSWD", "CREDENTIAL", "NPM_AUTH", "MYSQL_PWD", "GH_PAT", "DB_PASS"),
        *("clientSecret", "x-api-key", "TOKEN", "TOKEN_2", "CI_JOB_TOKEN"),
    ],
)
def test_secret_names(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("TOKENIZERS_PARALLELISM", "NUM_TOKENS", "SSH_AUTH_SOCK", "RAY_AUTH_MODE", "AUTHOR", "PWD", "OLDPWD", "PATH"),
        *("BENCH_PASS", "PUBLIC_KEY", "CACHE_KEY", "TOKEN_FILE", "flops_per_token", "MONKEY", "KEYBOARD", "DB_USER"),
        *("AWS_WEB_IDENTITY_TOKEN_FILE", "XAUTHORITY", "SECRETARY", "JAX_COMPILATION_CACHE_KEY", ""),
    ],
)
def test_other_names(name: str) -> None:
    assert not is_secret_name(name)


def test_secrets_of_an_environment() -> None:
    environ = {
        "GITHUB_TOKEN": "abcdefg8",
        "GH_TOKEN": "abcdefg8",
        "PGPASSWORD": "postgres",
        "SHORT_TOKEN": "abcdefg",
        "RAY_AUTH_MODE": "tokentoken",
        "GOOGLE_APPLICATION_CREDENTIALS": "/home/me/key.json",
        "TOKEN_COUNT": "123456789",
        "LAST_SECRET": "123456789",
        "PLAIN": "ordinary-value",
        "MINE": "/mine/to/hide",
    }
    found = {s.name: s.value for s in secrets_in(environ, ["MINE"])}
    assert found == {"GITHUB_TOKEN": "abcdefg8", "LAST_SECRET": "123456789", "MINE": "/mine/to/hide"}


def redactor(**secrets: str) -> Redactor:
    return Redactor(secrets=tuple(Secret(name=n, value=v) for n, v in secrets.items()))


def test_known_values_in_their_printed_forms() -> None:
    value = "p@ss/w rd\"'+é-tail"
    safe = redactor(PW=value)
    raw = value.encode()
    forms = [value, urllib.parse.quote(value), urllib.parse.quote(value, safe=""), urllib.parse.quote_plus(value)]
    forms += [base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()]
    forms += [value.replace('"', '\\"'), value.replace("'", "'\"'\"'")]
    for form in forms:
        assert safe.text(f"<{form}>") == "<$PW>", form
    for head in (b"u:", b"me:", b"you:"):
        assert "$PW" in safe.text(base64.b64encode(head + raw + b"!").decode())


def test_known_value_of_several_lines() -> None:
    safe = redactor(SSH_KEY=KEY, NOTE="first line here\nsecond line here\n")
    assert safe.text("first line here") == "$NOTE"
    assert safe.text("> second line here <") == "> $NOTE <"
    assert safe.text("MIIEpAIBAAKCAQEA0") == "$SSH_KEY"
    assert safe.text(f"a\n{KEY}\nb") == "a\n[redacted:private-key]\nb"
    wrapped = base64.encodebytes(KEY.encode()).decode()
    assert not any(line in safe.text(wrapped) for line in wrapped.split("\n") if len(line) >= 8)


def test_argv() -> None:
    safe = Redactor(secrets=(Secret(name="HF_TOKEN", value="known-secret"),), extra_names=("MINE",))
    argv = ["env", "MINE=a b;c", "DB_PASSWORD=x&y", "run", "--token", "abc", "--password=a b", "--verbose", "-c"]
    argv += ["curl -H 'X-Api-Key: abc'", "--hub", "known-secret", "--token", "--topk", "2"]
    assert safe.argv(argv) == (
        *("env", "MINE=$MINE", "DB_PASSWORD=$DB_PASSWORD", "run", "--token", "[redacted:token]"),
        *("--password=[redacted:password]", "--verbose", "-c", "curl -H 'X-Api-Key: [redacted:api-key]'"),
        *("--hub", "$HF_TOKEN", "--token", "--topk", "2"),
    )


def test_rules_and_names_of_a_project() -> None:
    rules = (
        Rule("acme", "acme_[a-z0-9]{12,}", ("ACME_",)),
        Rule("line", r"zz\s[0-9]{4}$"),
        Rule("clef", "cl\u00e9[0-9]+", ("Cl\u00e9",)),
    )
    safe = Redactor(extra_names=("KEY", "cl\u00e9.pin"), extra_rules=rules)
    assert safe.text("Acme_0123456789ab acme_0123456789ab") == "Acme_0123456789ab [redacted:acme]"
    assert safe.text("a zz 1234\nb zz 12345\nzz 9999") == "a [redacted:line]\nb zz 12345\n[redacted:line]"
    assert safe.text("un cl\u00e9123") == "un [redacted:clef]"
    assert safe.text("x KEY=abc MONKEY=abc") == "x KEY=$KEY MONKEY=abc"


def test_a_secret_in_a_command_line_is_not_named_after_itself() -> None:
    bare = "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZ012345"
    for argv in ([bare], ["bash", "r.sh", bare], [f"{bare}=5"], ["--flag-less", "x", bare]):
        found = Redactor().secrets_in_argv(argv)
        assert [(secret.name, secret.value) for secret in found] == [("SECRET", bare)]
        shown = Redactor(secrets=found).argv(argv)
        assert bare.casefold() not in " ".join(shown).casefold()
    [named] = Redactor().secrets_in_argv([f"MY_TOKEN={bare}"])
    assert (named.name, named.value) == ("MY_TOKEN", bare)


PIECES = [*(text for text, _ in SHAPES), *ORDINARY, KEY, "known-secret", *(k.sample("piece").text for k in ALL)]
PIECES += ["\n", " ", "=", ": ", '"', "--token", "password", "\x1b[0m", "$HF_TOKEN", "[redacted:", "]", "://", "@", "é"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
SAFE = redactor(HF_TOKEN="known-secret", PW='pass word"1')


@examples(300)
@given(TEXTS)
@pytest.mark.slow
def test_twice_is_once(text: str) -> None:
    once = SAFE.text(text)
    assert SAFE.text(once) == once
    argv = SAFE.argv(text.split(" "))
    assert SAFE.argv(argv) == argv


@examples(300)
@given(TEXTS)
def test_lines_one_by_one_hold_what_the_text_holds(text: str) -> None:
    stream = StreamRedactor(SAFE)
    done = [stream.feed(f"{line}\n".encode()) for line in text.split("\n")]
    assert b"".join([*done, stream.finish()]).decode() == SAFE.text(f"{text}\n")


HOSTILE = [
    "ey" + "J",
    "token=",
    'password="',
    "://a:",
    "-----BEGIN PRI" + "VATE KEY-----",
    "token='\\'",
    "Bearer ",
    '" == password',
    "token,",
    "token: x ",
    "gh" + "p_",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_repetition_takes_no_quadratic_time(piece: str) -> None:
    line = (piece * 30_000)[:30_000]
    began = time.process_time()
    PLAIN.text(line)
    # Milliseconds; a pattern that looks to the end of the line from every place takes more than ten seconds.
    assert time.process_time() - began < 3
