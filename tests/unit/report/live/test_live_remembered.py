"""A server that is started again has the address of the one before."""

from __future__ import annotations

from pathlib import Path

import pytest

from logbook_agent.model.errors import UsageError
from logbook_agent.report.live.remembered_access import opened
from logbook_agent.store.folder import Folder
from logbook_agent.store.user_config import UserPlaces


def test_the_next_server_has_the_same_address(tmp_path: Path) -> None:
    places = UserPlaces(state=Folder(tmp_path / "state"))
    listening, first = opened(places, 0)
    # While it runs, a second one is another; it does not take its place.
    with listening:
        other_listening, other = opened(places, 0)
        with other_listening:
            assert (other.port, other.token, other.session) != (first.port, first.token, first.session)
            assert len({first.token, other.token, first.session, other.session}) == 4
        with pytest.raises(UsageError, match=f"cannot listen on port {first.port}"):
            opened(places, first.port)
    kept = tmp_path / "state" / "serve.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    for port in (0, first.port):
        listening, again = opened(places, port)
        listening.close()
        assert again == first
    listening, elsewhere = opened(places, other.port)
    listening.close()
    assert elsewhere.token != first.token


@pytest.mark.parametrize("text", ["", "[]", '{"port": 1}', '{"port": "1", "token": "x", "session": ""}'])
def test_what_is_not_ours_is_replaced(tmp_path: Path, text: str) -> None:
    (tmp_path / "serve.json").write_text(text)
    listening, found = opened(UserPlaces(state=Folder(tmp_path)), 0)
    listening.close()
    assert found.token in (tmp_path / "serve.json").read_text()
