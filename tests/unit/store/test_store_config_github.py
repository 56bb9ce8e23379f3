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
    found = load(folder, 'logbook = "moe"\n')
    assert found == GitHubConfig()
    assert (found.site, found.labels) == (Site(), ())
    assert load(folder, "[github]\n") == found


def test_every_setting(folder: Path) -> None:
    found = load(
        folder,
        '[github]\nrepository = "o/r"\nhost = "https://ghe.example.org"\nremote = "up"\nlabels = ["a", "b c"]\n',
    )
    assert found == GitHubConfig(
        repository="o/r",
        host="https://ghe.example.org",
        remote="up",
        labels=("a", "b c"),
    )
    assert found.site == Site(host="ghe.example.org")


def test_this_machine_without_tls(folder: Path) -> None:
    text = '[github]\nhost = "http://127.0.0.1:4701"\n'
    assert load(folder, text).site == Site(scheme="http", host="127.0.0.1:4701")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("github = 1", "github: expected a mapping, got int"),
        ("[github]\nrepo = 1", "github.repo: unknown key"),
        ("[github]\nrepository = 1", "github.repository: expected str, got int"),
        ('[github]\nremote = ""', "github.remote is empty"),
        ('[github]\nrepository = "r"', "github.repository: 'r' cannot be read"),
        ('[github]\nrepository = "https://github.com/o/r"', "github.repository must be OWNER/REPO"),
        ('[github]\nhost = "a/b"', "github.host: 'a/b' cannot be read"),
        (
            '[github]\nhost = "http://ghe.example.org"',
            "github.host: 'http://ghe.example.org' would send the token in clear text",
        ),
        ('[github]\nlabels = "a"', "github.labels: expected a list, got str"),
        ("[github]\nlabels = [1]", "github.labels[0]: expected str, got int"),
        ('[github]\nlabels = [""]', "github.labels[0] is empty"),
        ("log_bytes = 0", "log_bytes must be a positive number"),
        ("log_bytes = 1.5", "log_bytes: expected int, got float"),
        ("executors = {box = 1}", "executors.box: expected a mapping, got int"),
        ('require = ["x"]', "require names 'x'"),
        ('file = "x"', "file: unknown key"),
    ],
)
def test_mistakes_are_named(folder: Path, text: str, message: str) -> None:
    found = error(folder, text)
    assert found.message == f"logbook.toml: {message}"
    assert found.hint
