"""The user's own settings: never a reason for a traceback or a hang."""

from __future__ import annotations

from pathlib import Path

import pytest

from logbook_agent.model.errors import LogbookError, StoreError, UsageError
from logbook_agent.store.config import load_user_config, user_config_file
from logbook_agent.store.folder import SETTINGS_BYTES


def config(tmp_path: Path, data: bytes) -> tuple[Path, dict[str, str]]:
    path = tmp_path / "xdg/logbook-agent/config.toml"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    return path, {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}


def test_where_the_file_is() -> None:
    assert user_config_file({"HOME": "/ada"}) == Path("/ada/.config/logbook-agent/config.toml")
    environ = {"HOME": "/ada", "XDG_CONFIG_HOME": "/xdg"}
    assert user_config_file(environ) == Path("/xdg/logbook-agent/config.toml")
    # A relative one could lead into a repository.
    for relative in ("", ".", "config", "~/config"):
        environ["XDG_CONFIG_HOME"] = relative
        assert user_config_file(environ) == Path("/ada/.config/logbook-agent/config.toml")
    assert user_config_file({"HOME": "."}) is None


@pytest.mark.parametrize(
    ("data", "kind", "said"),
    [
        (b"launchers = ['caf\xe9']", StoreError, "is not UTF-8 text"),
        (b"#" * (SETTINGS_BYTES + 1), StoreError, "has more than"),
        (b"launchers = [", UsageError, "are not valid"),
        (b"x = " + b"[" * 100_000, UsageError, "are not valid"),
        (b"hosts = []", UsageError, "hosts: unknown key"),
        (b"executors = {box = 'x'}", UsageError, "executors.box: expected a mapping"),
    ],
)
def test_a_file_that_does_not_fit(tmp_path: Path, data: bytes, kind: type[LogbookError], said: str) -> None:
    path, environ = config(tmp_path, data)
    with pytest.raises(kind) as caught:
        load_user_config(environ)
    told = f"{caught.value.message} {caught.value.cause} {caught.value.hint}"
    assert said in told
    assert str(path) in told
    assert len(told) < 1_000
