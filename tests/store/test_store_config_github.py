from __future__ import annotations

from pathlib import Path

import pytest

from logbook_agent.model.errors import UsageError
from logbook_agent.store.config import GitHubConfig, load_config
from logbook_agent.text.address import Site


def load(folder: Path, text: str) -> GitHubConfig:
    (folder / "logbook.toml").write_text(text)
    return load_config(folder).github


def error(folder: Path, text: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        load(folder, text)
    assert caught.value.cause == f"the settings in {folder / 'logbook.toml'} are not valid"
    assert caught.value.message.startswith("logbook.toml: ")
    return caught.value


def test_without_the_table_there_are_defaults(folder: Path) -> None:
    found = load(folder, 'zone = "UTC"\n')
    assert found == GitHubConfig()
    assert (found.site, found.pause_s, found.timeout_s, found.labels) == (Site(), 1.0, 30.0, ())
    assert load(folder, "[github]\n") == found


def test_every_setting(folder: Path) -> None:
    found = load(
        folder,
        '[github]\nrepository = "o/r"\nhost = "https://ghe.example.org"\napi = "https://ghe.example.org:8443/x/api/v3"\n'
        'remote = "up"\nlabels = ["a", "b c"]\npause_s = 0\ntimeout_s = 2.5\n',
    )
    assert found == GitHubConfig(
        repository="o/r",
        host="https://ghe.example.org",
        api="https://ghe.example.org:8443/x/api/v3",
        remote="up",
        labels=("a", "b c"),
        pause_s=0.0,
        timeout_s=2.5,
    )
    assert found.site == Site(host="ghe.example.org")


def test_this_machine_without_tls(folder: Path) -> None:
    text = '[github]\nhost = "http://127.0.0.1:4701"\napi = "http://127.0.0.1:4701"\npause_s = 0.1\n'
    assert load(folder, text).site == Site(scheme="http", host="127.0.0.1:4701")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("github = 1", "github must be a table"),
        ("[github]\nrepo = 1", "unknown setting 'repo' in [github]"),
        ("[github]\nrepository = 1", "github.repository must be a string"),
        ('[github]\nremote = ""', "github.remote must be a string"),
        ('[github]\nrepository = "r"', "github.repository: 'r' cannot be read"),
        ('[github]\nrepository = "https://github.com/o/r"', "github.repository must be OWNER/REPO"),
        ('[github]\nhost = "a/b"', "github.host: 'a/b' cannot be read"),
        (
            '[github]\nhost = "http://ghe.example.org"',
            "github.host: 'http://ghe.example.org' would send the token in clear text",
        ),
        ('[github]\nlabels = "a"', "github.labels must be a list of strings"),
        ("[github]\nlabels = [1]", "github.labels must be a list of strings"),
        ('[github]\npause_s = "1"', "github.pause_s must be a number of seconds"),
        ("[github]\npause_s = true", "github.pause_s must be a number of seconds"),
        ("[github]\npause_s = nan", "github.pause_s must be a number of seconds"),
        ('[github]\nhost = "ghe.example.org"\npause_s = -1', "github.pause_s must be a number of seconds"),
        ("[github]\npause_s = 0.9", "github.pause_s must be at least 1 for github.com"),
        ('[github]\nhost = "https://www.github.com"\npause_s = 0', "github.pause_s must be at least 1 for github.com"),
        ("[github]\ntimeout_s = inf", "github.timeout_s must be a number of seconds"),
        ("[github]\ntimeout_s = 0", "github.timeout_s must be above zero"),
        ('[github]\napi = "https://api.github.com"', "github.api cannot be set for github.com"),
        ('[github]\nhost = "GitHub.com"\napi = "https://evil.org"', "github.api cannot be set for github.com"),
        (
            '[github]\nhost = "ghe.example.org"\napi = "https://evil.org/api/v3"',
            "github.api is on evil.org, and github.host is ghe.example.org",
        ),
        (
            '[github]\nhost = "ghe.example.org"\napi = "http://ghe.example.org/api/v3"',
            "github.api: 'http://ghe.example.org/api/v3' would send the token in clear text",
        ),
        (
            '[github]\nhost = "ghe.example.org"\napi = "https://ghe.example.org@evil.org/"',
            "github.api: the address has a user or a password in it",
        ),
    ],
)
def test_mistakes_are_named(folder: Path, text: str, message: str) -> None:
    found = error(folder, text)
    assert found.message == f"logbook.toml: {message}"
    assert found.hint
