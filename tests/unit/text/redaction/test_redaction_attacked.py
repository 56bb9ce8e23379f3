"""What attackers found, each as it was found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from logbook_agent.model.entry import Entry, RecipeUse
from logbook_agent.model.run import Code, Run, UntrackedFile
from logbook_agent.text.redaction.plain import clean_record, clean_run, redacted
from logbook_agent.text.redaction.redactor import Redactor, by_shape
from logbook_agent.text.redaction.shapes import Rule
from logbook_agent.text.redaction.stream import StreamRedactor
from tests.contract.text.redaction.kinds_support import HEX, Maker

VALUE = Maker("attacked").word() + "Lm2Tz"
LONG = (VALUE * 6).replace("_", "x").replace("-", "y")


@pytest.mark.parametrize(
    "text",
    [
        # Names.
        *("password2={}", "passwords={}", "API_KEYS={}", "DBPWD={}", "db_pwd_prod={}", "TOKEN1={}", "WANDB_KEY={}"),
        # Colours between name and value.
        *("\x1b[33mpassword\x1b[0m=\x1b[32m{}\x1b[0m", "api_key: \x1b[1m{}\x1b[0m", "--token \x1b[1m{}"),
        '"password": \x1b[32m"{}"\x1b[0m',
        # As grep, tput, and terminals with links and titles write them.
        *(
            "\x1b[01;31m\x1b[Kpassword\x1b[m\x1b[K={}",
            "\x1b[01;31m\x1b[Kpassword=\x1b[m\x1b[K{}",
            "api_key: \x1b(B\x1b[m{}",
        ),
        *("password\x1b]8;;https://h\x1b\\={}", "password\x1b]0;t\x07={}", "password\x1b7={}", "password\x9b0m={}"),
        # A sequence that takes the beginning of the name with it.
        *("\x1b[password={}", "\x1b]0;password={}\x07"),
        # Nested, quoted, called.
        *('{{"config": {{"password": {{"value": "{}"}}}}}}', '"password": ["{}"]', "{{'token': {{'prod': '{}'}}}}"),
        *("password = '''{}'''", 'password = """{}"""', "api_key: str = '{}'", "password: str | None = '{}'"),
        *("password = r'{}'", "token = b'{}'", "api_key=SecretStr('{}')", "secret = ('{}')"),
        # Commands.
        *("git config user.password {}", "aws configure set aws_secret_access_key {}", "setenv HF_TOKEN {}"),
        *("docker login -p {}", "curl -ume:{} https://h", "curl -sSu me:{} h", "mysql -p{} db"),
        # Prose, cookies, .netrc, paths.
        *("API key: {}", "Secret Access Key: {}", "Cookie: a=1; b={}", "machine h password {}", "s3:/me:{}@h/x"),
    ],
)
def test_hidden(text: str) -> None:
    done = by_shape().text(text.format(VALUE))
    assert VALUE not in done
    assert VALUE[:8] not in done


def test_hidden_in_a_coloured_stream() -> None:
    key = f"-----\x1b[31m\x1b[KBEGIN\x1b[m\x1b[K RSA PRIVATE KEY-----\n{LONG[:64]}\n-----END RSA PRIVATE KEY-----\n"
    data = f"a\n\x1b[31m\x1b[Kpassword\x1b[m\x1b[K={VALUE}\n--token \\\x1b(B\n{VALUE}\n\x1b(Bhf_{LONG[1:35]}\n{key}b\n"
    stream = StreamRedactor(by_shape())
    done = (stream.feed(data.encode()) + stream.finish()).decode()
    assert VALUE not in done
    assert LONG[2:20] not in done
    assert done.startswith("a\n")
    assert done.endswith("\nb\n")


@pytest.mark.parametrize(
    "plain",
    [
        {"password": {"value": VALUE}},
        {"secret": {"a": [VALUE]}},
        {"env": "HF_TOKEN", "value": VALUE},
        {"header": "Api-Key", "value": VALUE},
        {"name": "HF_TOKEN", "default": VALUE},
        ["--token", VALUE, 3],
    ],
)
def test_hidden_in_data(plain: Any) -> None:
    assert VALUE not in repr(redacted(plain, by_shape()))


@pytest.mark.parametrize(
    "text",
    [
        *("token_dropping=capacity", "token_mixer=attn", "--token-permutation sorted", "token_dispatcher=alltoall"),
        *("token_embed=bf16", "token_block=64x64", "inter_token_latency=12.4ms", "time_per_output_token=12.3ms"),
        *("decode_token: 12.4us", "kv_cache_token=16KB", "user_pass=5ms", "password: 231.2ms", "access_pat=stride-16"),
        *("access_key_pattern=zipfian", "--model sk-resnet50-imagenet-finetuned-2021", "pci:/0000:01:00.0@x"),
        *("curl h && docker run -u 1000:1000", "secretstorage==3.3.3", "volume host:/path:ro@x", "secretary=Ann2"),
        *(
            "blocks.0.token_mixer.weight: torch.float32",
            "token_embedding.weight: torch.float32",
            "token_type_ids=[0, 1]",
        ),
        *("config = 'none'", "git config user.name Ann3", "\x1b[1mbold\x1b[0m 12.5 tokens/s"),
    ],
)
def test_kept(text: str) -> None:
    assert by_shape().text(text) == text


def test_a_rule_that_matches_its_own_mark_ends() -> None:
    safe = Redactor(extra_rules=(Rule(id="x", regex="[a-z]", group=None, keywords=(), entropy=0.0),))
    done = safe.text("hello " * 20)
    assert len(done) < 2000
    assert safe.text(done) == done


def test_a_rule_for_digests_leaves_those_of_the_tool() -> None:
    digest, other = "3f2a9c01d4" * 4, "5b6c7d8e" * 8
    rule = Rule(id="hex-key", regex=r"\b[0-9a-f]{16,64}\b", group=None, keywords=(), entropy=0.0)
    code = Code(
        commit=digest,
        identity=other,
        diff_sha256=other,
        diff_kept=f"code/{other[:16]}.diff",
        untracked=(UntrackedFile(path=digest, sha256=other, bytes=3, kept=f"code/{other[:16]}-ghp_{LONG[:36]}"),),
        synced=digest,
    )
    run = Run(entry="X-000", run=1, argv=("b",), started="now", spool=digest[:16], label=other, code=code)
    done = clean_run(run, Redactor(extra_rules=(rule,)))
    mark = "[redacted:hex-key]"
    file = UntrackedFile(path=mark, sha256=other, bytes=3, kept=f"code/{other[:16]}-[redacted:github-token]")
    assert done == replace(run, label=mark, code=replace(code, untracked=(file,)))
    use = RecipeUse(name="r", digest=digest[:32], runs=2)
    entry = Entry(id="X-000", title=digest, opened="now", recipe=use)
    assert clean_record(entry, Redactor(extra_rules=(rule,))) == replace(entry, title=mark)


def test_an_escape_cannot_eat_the_beginning_of_a_secret() -> None:
    key = f"hf_{LONG[1:35]}"
    done = by_shape().text(f"x \x1b{key} y \x1b[1mpassword\x1b[0m=\x1b[2m{VALUE} z")
    assert LONG[2:20] not in done
    assert VALUE not in done
    assert done.startswith("x ")
    assert done.endswith(" z")


@pytest.mark.parametrize(
    ("begun", "rest"),
    [
        ("wandb log", f"in {Maker('k').of(HEX, 40)}\n"),
        ("run -e HF", f"_TOKEN {VALUE}\n"),
        ("run --tok", f"en {VALUE}\n"),
    ],
)
def test_nothing_that_may_become_a_secret_leaves_on_a_pause(begun: str, rest: str) -> None:
    stream = StreamRedactor(by_shape())
    out = stream.feed(begun.encode()) + stream.flush_idle() + stream.feed(rest.encode()) + stream.finish()
    assert rest.split()[-1].encode() not in out
