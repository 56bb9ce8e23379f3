"""What detect-secrets finds, we find: all its plugins but those that judge by entropy, or take names of classes
(APFloatSemantics) and digests below a key (opencl_key) for secrets."""

# ruff: noqa: SIM905

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from hypothesis import Phase, assume, example, given, settings
from hypothesis import strategies as st

from logbook_agent.text.redaction.names import is_reference, is_secret_value
from logbook_agent.text.redaction.redactor import Redactor
from logbook_agent.text.redaction.rules import entropy
from tests.breadth import examples
from tests.contract.text.redaction.kinds_support import ALL, ALNUM, Maker

PLAIN = Redactor()
GUESSES = {
    *("Base64 High Entropy String", "Hex High Entropy String"),
    *("Artifactory Credentials", "Cloudant Credentials", "SoftLayer Credentials"),
}
PLUGINS = {kind: made() for kind, made in get_mapping_from_secret_type_to_class().items() if kind not in GUESSES}
KEYWORD = "Secret Keyword"


def by_oracle(line: str) -> Iterator[tuple[str, str]]:
    """Kind and value of each finding."""
    for kind, plugin in PLUGINS.items():
        yield from ((kind, value) for value in plugin.analyze_string(line) if value)


# Why a finding of the oracle is none of ours. Each is needed by the example beside it.
def _is_address(kind: str, value: str, line: str) -> bool:
    return kind == "Public IP (ipv4)"


def _is_frame(kind: str, value: str, line: str) -> bool:
    return kind == "Private Key" and not re.search(r"-{4,5} ?BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-{4,5}|PuTTY-\S+:", line)


def _is_reference(kind: str, value: str, line: str) -> bool:
    return is_reference(value) or (kind == KEYWORD and ("[redacted:" in value or value.startswith("$")))


def _is_no_value(kind: str, value: str, line: str) -> bool:
    return kind == KEYWORD and not is_secret_value("password", "password", value.strip())


def _is_name_of_it(kind: str, value: str, line: str) -> bool:
    return (
        kind == KEYWORD
        and re.fullmatch(r"[\w.-]*(?:password|secret|key|passwd|pwd|pass)\w*", value, re.IGNORECASE) is not None
    )


def _is_described(kind: str, value: str, line: str) -> bool:
    """The last word of the name says where the secret is, or of what kind: password_file, secret_name, api_key_url."""
    words = (
        "file path sock dir mode type kind method url uri host port user name timeout length len count size rate ttl"
    )
    described = rf"(?:{words.replace(' ', '|')})\W"
    return kind == KEYWORD and re.search(rf"(?i)(?:key|pass\w*|pwd|secret)[\w.-]*{described}", line) is not None


def _is_plain_key(kind: str, value: str, line: str) -> bool:
    return kind == "IBM Cloud IAM Key" and re.search(r"(?i)(?:ibm|cloud|iam|api)", line) is None


def _is_no_address(kind: str, value: str, line: str) -> bool:
    return kind == "Basic Auth Credentials" and re.search(r"""://[^\s@]*["'<>`\\][^\s@]*@""", line) is not None


def _is_command(kind: str, value: str, line: str) -> bool:
    return kind == KEYWORD and f"`{value}`" in line and " " in value


def _is_behind_it(kind: str, value: str, line: str) -> bool:
    return kind == "NPM tokens" and re.match(r"npm_\s", value) is not None


def _is_ordinary(kind: str, value: str, line: str) -> bool:
    limits = {"Discord Bot Token": 4.7, "Telegram Bot Token": 4.2}
    return kind in limits and entropy(value.strip(' =:"').rpartition(":")[2]) < limits[kind]


def _is_digest(kind: str, value: str, line: str) -> bool:
    return kind == "AWS Access Key" and re.fullmatch("ACCA[0-9A-F]{16}", value) is not None


def _is_another_word(kind: str, value: str, line: str) -> bool:
    return kind == "Secret Keyword" and re.search(r"(?i)(?:pwd|key)[a-z]{1,20}(?![a-z])", line) is not None


EXCEPTIONS = {
    "a public address names a machine, and is part of what was measured": (_is_address, "worker at 8.8.8.8 is up"),
    "the words of a frame without its dashes are no key": (_is_frame, "a file with BEGIN RSA PRIVATE KEY in it"),
    "a reference to a secret is none": (_is_reference, 'password = "xxxxxxxx"'),
    "a switch, a null word or a path under such a name is none": (_is_no_value, 'use_password = "none"'),
    "a name in the place of the value": (_is_name_of_it, 'secret = "secret"'),
    "the name says that the value only locates or describes the secret": (_is_described, 'secret_name = "acme/prod"'),
    "letters behind PWD or KEY make another word": (_is_another_word, 'privatekeyfoo = "hunt7r-Xq92"'),
    "44 characters under a plain name such as key are a digest as often": (_is_plain_key, f"key: {ALNUM[:44]}"),
    "an address ends at a quote or a bracket": (_is_no_address, "see <https://host:80>me@example.org"),
    "several words between backticks are a command, whose output is the value": (_is_command, "secret = `cat a b`"),
    "a prefix that nothing stands behind is no token": (_is_behind_it, "//h/:_authToken=npm_ x"),
    "ACCA stands in digests in capital letters": (_is_digest, "SHA1 ACCA" + "0123456789ABCDEF" * 2),
    "dotted names look like Discord's tokens, seconds and a name like Telegram's": (
        _is_ordinary,
        "MixtureOfExpertsLayerBlock.module.shared_expert_projection_weight",
    ),
}


def missed(line: str) -> list[tuple[str, str]]:
    """Findings of the oracle whose value is still in our line."""
    # A value of one letter stands in every mark.
    done = re.sub(r"\[redacted:[a-z0-9-]+\]|\$[A-Za-z_]\w*", "", PLAIN.text(line))
    return [(kind, value) for kind, value in by_oracle(line) if value in done]


def excepted(kind: str, value: str, line: str) -> bool:
    return any(is_so(kind, value, line) for is_so, _ in EXCEPTIONS.values())


@pytest.mark.parametrize("reason", EXCEPTIONS)
def test_an_exception_is_still_needed(reason: str) -> None:
    is_so, line = EXCEPTIONS[reason]
    found = missed(line)
    assert [finding for finding in found if is_so(*finding, line)] == found != []


def plugin_examples() -> Iterator[tuple[str, str]]:
    """Lines that each plugin with patterns finds, made from its patterns."""
    for kind, plugin in PLUGINS.items():
        for pattern in getattr(plugin, "denylist", ()):
            yield kind, pattern.pattern


@pytest.mark.parametrize(("kind", "pattern"), sorted({*plugin_examples()}), ids=lambda text: text[:24])
@pytest.mark.sample(8)
@pytest.mark.slow
def test_every_pattern_of_the_oracle(kind: str, pattern: str) -> None:
    flags = re.VERBOSE if pattern.startswith("\n") else 0

    @settings(max_examples=5, deadline=None, derandomize=True, phases=[Phase.generate])
    @given(
        st.from_regex(
            re.compile(pattern, re.ASCII | flags),
            fullmatch=True,
            alphabet=st.characters(max_codepoint=126, min_codepoint=32),
        )
    )
    def check(line: str) -> None:
        for spelt in (line.strip(), f"x = {line.strip()} y"):
            assert [f for f in missed(spelt) if not excepted(*f, spelt)] == []

    check()


WORD = Maker("oracle").word()
NAMES = """
password2 passwords PASSWORD1 secrets secret2 api_keys api_key2 apikeys apikey1 pwd2 mypwd rootpwd DBPWD
db_pwd_prod pwd_x passwdfoo passwordhash secretvalue dbpasswordprod db_pass2 service_key2 client_keys password
db_password PASSWORD passwd pwd db_pwd secret client_secret my_secret_value api_key apikey API_KEY auth_key
service_key account_key db_key database_key priv_key private_key client_key db_pass database_pass key_pass
contrasena contraseña password_secure x.api_key self.password config['secret'] apikey_prod
""".split()
SEPARATORS = (*": = == : := :=".split(), " : ", " := ", " = ", " == ", " != ", "===", " => ", "=>", "[] = ", "[25] = ")
QUOTES = ('"', "'", "`")
VALUES = (WORD, "hunter2", "correct horse battery", "p@ss!w0rd", "a,b;c d", ALNUM[5:40], "x/y+z==", "Zürich-Straße-9")
ASSIGNED = st.tuples(*map(st.sampled_from, (NAMES, SEPARATORS, QUOTES, VALUES))).map(lambda p: "".join((*p, p[2])))
PARTS = ASSIGNED | st.sampled_from(
    [
        *NAMES,
        *SEPARATORS,
        *QUOTES,
        *VALUES,
        *(k.sample("oracle").text for k in ALL),
        *"x ( ) , ; @ :// me:".split(),
        " ",
    ]
)


@examples(150, derandomize=True)
@given(st.lists(PARTS, max_size=7).map("".join))
@example('my_secret_value = @"hunter2";')
@pytest.mark.slow
def test_whatever_the_oracle_flags_is_gone(text: str) -> None:
    for line in text.split("\n"):
        assume(len(line) < 2000)
        assert [f for f in missed(line) if not excepted(*f, line)] == [], line
