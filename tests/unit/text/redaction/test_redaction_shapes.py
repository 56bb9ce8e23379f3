"""Keys of many services, values beside their names in tables and tags, and caught values in other spellings."""

from __future__ import annotations

import base64
import json
import urllib.parse

from logbook_agent.text.redaction.plain import redacted
from logbook_agent.text.redaction.redactor import by_shape
from tests.contract.text.redaction.kinds_support import Maker

SAFE = by_shape()
VALUE = Maker("beside its name").word()


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
        done = redacted({**caught, **spellings}, SAFE)
        assert {
            name: done[name] for name in spellings if VALUE[:9] in done[name] or done[name] == spellings[name]
        } == {}
