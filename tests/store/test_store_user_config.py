"""The user's own settings: private, replaced whole, and never a reason for a traceback or a hang."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from logbook_agent.model.errors import LogbookError, StoreError, UsageError
from logbook_agent.store.user_config import (
    MOST_BYTES,
    change_confirmed_hosts,
    load_user_config,
    user_config_file,
)


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


def test_without_a_home_nothing_is_confirmed_and_nothing_can_be() -> None:
    assert load_user_config({}).confirmed_hosts == ()
    with pytest.raises(UsageError, match="no folder for your settings"):
        change_confirmed_hosts({}, lambda hosts: (*hosts, "ghe.example.org"))


def test_a_host_is_kept_in_a_private_file(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    mask = os.umask(0)
    try:
        change_confirmed_hosts(environ, lambda hosts: (*hosts, "ghe.example.org"))
    finally:
        os.umask(mask)
    path = user_config_file(environ)
    assert path is not None
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert load_user_config(environ).confirmed_hosts == ("ghe.example.org",)
    before = path.stat()
    change_confirmed_hosts(environ, lambda hosts: hosts)
    assert path.stat() == before, "nothing changed, and nothing was written"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("# mine\n", "# mine\n"),
        ('confirmed_hosts = ["a.example.org"]  # ours\n# more\n', "  # ours\n# more\n"),
        ("confirmed_hosts=[\n  'a.example.org',\n  \"[::1]:8080\",\n]\n\n# end", "\n\n# end"),
    ],
)
def test_the_rest_of_the_file_stays(tmp_path: Path, text: str, left: str) -> None:
    path, environ = config(tmp_path, text.encode())
    before = load_user_config(environ).confirmed_hosts
    change_confirmed_hosts(environ, lambda hosts: (*hosts, "z.example.org"))
    assert load_user_config(environ).confirmed_hosts == (*before, "z.example.org")
    assert path.read_text().endswith(left)


def test_a_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    path, environ = config(tmp_path, b"")
    path.unlink()
    (tmp_path / "dotfiles.toml").write_text("# mine\n")
    path.symlink_to(tmp_path / "dotfiles.toml")
    change_confirmed_hosts(environ, lambda hosts: (*hosts, "ghe.example.org"))
    assert path.is_symlink()
    assert (tmp_path / "dotfiles.toml").read_text() == 'confirmed_hosts = ["ghe.example.org"]\n# mine\n'


def test_two_at_once_lose_nothing(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    names = [f"host-{n}.example.org" for n in range(8)]

    def add(name: str) -> None:
        change_confirmed_hosts(environ, lambda hosts: (*hosts, name))

    threads = [threading.Thread(target=add, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(load_user_config(environ).confirmed_hosts) == names


@pytest.mark.parametrize(
    ("data", "kind", "said"),
    [
        (b"confirmed_hosts = ['caf\xe9']", StoreError, "is not UTF-8 text (byte 23)"),
        (b"#" * (MOST_BYTES + 1), StoreError, "has more than"),
        (b"confirmed_hosts = [", UsageError, "are not valid"),
        (b"x = " + b"[" * 100_000, UsageError, "are not valid"),
        (b"x = " + b"{a=" * 100_000, UsageError, "are not valid"),
        (b"hosts = []", UsageError, "unknown setting 'hosts'"),
        (b"confirmed_hosts = 'ghe.example.org'", UsageError, "must be a list"),
        (b"confirmed_hosts = [1]", UsageError, "must be a list"),
        (b"confirmed_hosts = ['ghe.example.org/path']", UsageError, "cannot be read"),
        (b"confirmed_hosts = ['http://ghe.example.org']", UsageError, "clear text"),
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


@pytest.mark.parametrize("what", ["folder", "fifo", "device", "unreadable"])
def test_what_is_no_regular_file(tmp_path: Path, what: str) -> None:
    path, environ = config(tmp_path, b"")
    path.unlink()
    if what == "folder":
        path.mkdir()
    elif what == "fifo":
        os.mkfifo(path)
    elif what == "device":
        path.symlink_to("/dev/zero")
    else:
        path.symlink_to(path.name)
    for call in (load_user_config, lambda e: change_confirmed_hosts(e, lambda hosts: (*hosts, "a.example.org"))):
        with pytest.raises(StoreError, match="cannot read your settings") as caught:
            call(environ)
        assert caught.value.cause
        assert caught.value.hint == f"correct or remove the file: {path}"
