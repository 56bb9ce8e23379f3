"""Records without secrets: the quick look at all texts at once misses nothing that the rules would change."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from logbook_agent.text.redaction.plain import _Cleaner, _found, redacted
from logbook_agent.text.redaction.redactor import Redactor
from logbook_agent.text.redaction.secrets import Secret
from tests.breadth import examples

GITHUB = "gh" + "p_abcdefghijklmnopqrstuvwxyz0123456789"
KEY = "-----BEGIN PRI" + "VATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRI" + "VATE KEY-----"
REDACTOR = Redactor(secrets=(Secret(name="HF_TOKEN", value="known-secret"),), extra_names=("CLUSTER_PIN",))
TEXTS = st.lists(
    st.sampled_from(
        [
            "a",
            " ",
            "\n",
            "known-secret",
            GITHUB,
            KEY,
            "password=",
            "hunter2hunter2",
            "CLUSTER_PIN=1234",
            "--token ",
            "é",
            "\udc80",
        ]
    ),
    max_size=4,
).map("".join)
NAMES = st.sampled_from(["text", "password", "CLUSTER_PIN", "known-secret", "a b"])
PLAIN = st.recursive(
    TEXTS | st.none() | st.integers() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@examples(400)
@given(PLAIN)
@example({"a": ["x", {"known-secret": 3}]})
@example(["--token", "hunter2hunter2"])
@pytest.mark.slow
def test_the_quick_look_misses_nothing(plain: object) -> None:
    assert redacted(plain, REDACTOR) == _Cleaner(REDACTOR.knowing(_found(plain, REDACTOR))).clean(plain)
