"""Settings of a project: a mistake is an error that names the key, and no project asks for all variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli

MISTAKES = {
    "github = 1": "github",
    "[github]\nrepo = 1": "github.repo",
    "[github]\nremote = ''": "github.remote",
    "[github]\nrepository = 'https://github.com/o/r'": "github.repository",
    "[github]\nhost = 'http://ghe.example.org'": "github.host",
    "[github]\nlabels = [[1]]": "github.labels[0]",
    "log_bytes = 0": "log_bytes",
    "require = ['x']": "require",
    "file = 'x'": "file",
    "[[secret_rules]]\nregex = 'a'": "secret_rules[0].id",
    "[[secret_rules]]\nid = 'a]'\nregex = 'a'": "secret_rules[0]",
    "[[secret_rules]]\nid = 'a'\nregex = '('": "secret_rules[0]",
    "[[secret_rules]]\nid = 'a'\nregex = 'a*'": "secret_rules[0]",
    "[[secret_rules]]\nid = 'a'\nregex = 'a{1000}b{1000}c{1000}d{1000}e{1000}'": "secret_rules[0]",
    **{
        f"[[secret_rules]]\nid = 'a'\nregex = '{slow}'": "secret_rules[0]"
        for slow in ("(?:z+)+q", "(z|zz)*q", "(a{2}){3,}b", "a{3000}b")
    },
    "[[secret_rules]]\nid = 'a'\nregex = 'a'\nkeywords = ['']": "secret_rules[0]",
    **{f"env = ['{pattern}']": pattern for pattern in ("*", "??*", "H*")},
}


@pytest.mark.parametrize("text", MISTAKES)
@pytest.mark.sample(8)
def test_a_mistake_is_named(cli: Cli, folder: Path, text: str) -> None:
    (folder / "logbook.toml").write_text(f"{text}\n")
    answer = cli("list", "--json")
    assert answer.code == 2
    assert answer.error["code"] == "usage"
    assert answer.error["message"].startswith("logbook.toml: ")
    assert MISTAKES[text] in answer.error["message"]
    assert answer.error["hint"]


def test_a_rule_hides_its_group_and_keeps_nothing_from_being_hidden(started: Cli, folder: Path) -> None:
    """The second would replace what other rules look for, were it tried before them."""
    acme = "[[secret_rules]]\nid = 'acme-token'\nregex = '\\bacme_([a-z0-9]{12,})'\nkeywords = ['ACME_']\n"
    frame = "[[secret_rules]]\nid = 'frame'\nregex = 'BEGIN|PRIVATE|hf_|token'\n"
    (folder / "logbook.toml").write_text(acme + frame)
    body, token = "MIIEpAIBAAKCAQEA0abcdefgh", "aB3dE6gH9jK2mN5p"
    key = f"-----BEGIN PRI{'VATE KEY'}-----\n{body}\n-----END PRI{'VATE KEY'}-----"
    text = f"x acme_0123456789ab y acme_short\n\n{key}\n\nh{'f_' + token} --token {token}"
    assert started("note", "--title", "one", "--result", text).code == 0
    view = (folder / "logbooks/moe.md").read_text()
    assert "x acme_[redacted:acme-token] y acme_short" in view
    assert (body in view, token in view) == (False, False)
