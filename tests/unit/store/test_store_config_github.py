from __future__ import annotations

from pathlib import Path

from logbook_agent.store.config import GitHubConfig, load_config
from logbook_agent.text.address import Site


def load(folder: Path, text: str) -> GitHubConfig:
    (folder / "logbook.toml").write_text(text)
    return load_config(folder).github


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
