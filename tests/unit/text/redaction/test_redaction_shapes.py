"""Keys of many services, values beside their names in tables and tags, and caught values in other spellings."""

from __future__ import annotations

import base64
import json
import urllib.parse
from xml.sax.saxutils import escape, quoteattr

import pytest

from logbook_agent.text.redaction.plain import redacted
from logbook_agent.text.redaction.redactor import by_shape
from logbook_agent.text.redaction.stream import StreamRedactor
from tests.contract.text.redaction.kinds_support import Maker
from tests.unit.text.redaction.vendor_shapes import TEMPLATES, made

SAFE = by_shape()
VALUE = Maker("beside its name").word()


def leaks(text: str, secret: str) -> bool:
    """Whether a third of the secret is left, in one text or in a large stream."""
    stream = StreamRedactor(SAFE)
    block = b"step 1 loss 3.2\n" * 400
    done = stream.feed(block + text.encode() + b"\n" + block) + stream.finish()
    third = len(secret) // 3
    parts = [secret[at : at + max(third, 6)] for at in range(third, len(secret), max(third, 6))]
    return any(part in shown for part in parts if len(part) >= 6 for shown in (SAFE.text(text), done.decode()))


@pytest.mark.slow
def test_keys_of_services() -> None:
    """Every shape is found, with letters of three draws, in the frames that logs put around it."""
    assert len(TEMPLATES) == len(set(TEMPLATES)) >= 180
    left = {
        (template, frame)
        for template in TEMPLATES
        for frame in ("{}", "out: {} end", "key={}")
        for secret in (made(template, frame),)
        if leaks(frame.format(secret), secret)
    }
    assert left == set()


BESIDE = (
    *("HF_TOKEN {}", "ENV API_KEY {}", "ARG DB_PASSWORD {}", "WANDB_API_KEY   {}", "api_key        {}", "hf_token\t{}"),
    *("| api_key | {} |", "│ password │ {} │", "┃ password ┃ {} ┃", "║ secret ║ {} ║", "| `api_key` | `{}` |"),
    *("| user | me | **password** | {} |", "password |{}"),
    *("<password>{}</password>", "<db:password>{}</db:password>", '<entry key="password">{}</entry>'),
    *('<add key="password" value="{}"/>', "&lt;password&gt;{}&lt;/password&gt;", "<secret><![CDATA[{}]]></secret>"),
    *(
        "db.example.org:5432:runs:me:{}",
        "write @@db.example.org:5432:runs:me:{}",
        "*:*:*:me:{}",
        "password='it''s{}'",
        'password="a""{}"',
        '"password","ab""{}"',
    ),
    *("https://h/x?X-Amz-Signature={}{}", "X-Goog-Signature={}{}", '{{"kty":"OKP","d":"{}{}0123456789abcdXYZ"}}'),
)


@pytest.mark.parametrize("text", BESIDE)
def test_beside_its_name(text: str) -> None:
    value = VALUE.replace("-", "x") if "{}{}" in text else VALUE
    assert not leaks(text.format(value, value), value)


def test_caught_values_in_other_spellings() -> None:
    """What is hidden where it stands is hidden in the same record in every spelling that writers of files give it."""
    value = """p<&>"q'""" + VALUE
    spellings = {
        "plain": value,
        "doubled": value.replace('"', '""'),
        "doubled single": value.replace("'", "''"),
        "xml": escape(value),
        "attribute": quoteattr(value)[1:-1],
        "html": escape(value, {'"': "&quot;", "'": "&#x27;"}),
        "decimal": escape(value, {'"': "&#34;", "'": "&#39;"}),
        "json": json.dumps(value)[1:-1],
        "url": urllib.parse.quote(value),
        "form": urllib.parse.quote_plus(value),
        "base64": base64.b64encode(value.encode()).decode(),
        "hex": value.encode().hex(),
    }
    for caught in ({"password": value}, {"argv": ["run", "--token", value]}):
        done = redacted({**caught, **spellings}, SAFE)
        assert {
            name: done[name] for name in spellings if VALUE[:9] in done[name] or done[name] == spellings[name]
        } == {}
