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
