"""What attackers found, each as it was found."""

from __future__ import annotations

import base64
import json
import urllib.parse
from typing import Any

import pytest

from logbook_agent.text.redaction.plain import redacted
from logbook_agent.text.redaction.redactor import by_shape
from tests.contract.text.redaction.kinds_support import Maker

VALUE = Maker("attacked").word() + "Lm2Tz"


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


@pytest.mark.parametrize(
    "plain",
    [
        {"password": {"value": VALUE}},
        {"secret": {"a": [VALUE]}},
        {"env": "HF_TOKEN", "value": VALUE},
        {"header": "Api-Key", "value": VALUE},
        {"name": "HF_TOKEN", "default": VALUE},
        ["--token", VALUE, 3],
        ["if", f'"{VALUE}"', "==", "db_password:"],
        # One text that was cut at its first = or :, as --config cuts it.
        {"config": {"https": f"//me:{VALUE}@example.org/x"}},
        {"config": {"Cookie: a": f"1; b={VALUE}"}},
        {"config": {"curl -u admin": VALUE}},
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


def test_caught_values_in_other_spellings() -> None:
    """What is hidden where it stands is hidden in the same record in every spelling that writers of files give it."""
    value = """p<&>"q'""" + VALUE
    spellings = {
        "plain": value,
        "json": json.dumps(value)[1:-1],
        "url": urllib.parse.quote(value),
        "form": urllib.parse.quote_plus(value),
        "base64": base64.b64encode(value.encode()).decode(),
        "hex": value.encode().hex(),
    }
    for caught in ({"password": value}, {"argv": ["run", "--token", value]}):
        done = redacted({**caught, **spellings}, by_shape())
        assert {
            name: done[name] for name in spellings if VALUE[:9] in done[name] or done[name] == spellings[name]
        } == {}
