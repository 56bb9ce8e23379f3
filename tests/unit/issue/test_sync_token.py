"""The token of a host is sent to that host alone."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from logbook_agent.issue.token import token_for
from logbook_agent.model.errors import NoToken

ALL = {
    "GH_TOKEN": "gh1",
    "GITHUB_TOKEN": "gh2",
    "GH_ENTERPRISE_TOKEN": "ent1",
    "GITHUB_ENTERPRISE_TOKEN": "ent2",
}


def without(*names: str) -> dict[str, str]:
    return {k: v for k, v in ALL.items() if k not in names}


@pytest.mark.parametrize(
    ("host", "environ", "value", "source"),
    [
        ("github.com", ALL, "gh1", "GH_TOKEN"),
        ("GitHub.com", without("GH_TOKEN"), "gh2", "GITHUB_TOKEN"),
        ("github.com", {**ALL, "GH_TOKEN": ""}, "gh2", "GITHUB_TOKEN"),
        ("github.com", {**ALL, "GH_TOKEN": " gh3\n"}, "gh3", "GH_TOKEN"),
        (
            "ghe.example.org:8443",
            {**without("GH_ENTERPRISE_TOKEN"), "GH_HOST": "ghe.example.org:8443"},
            "ent2",
            "GITHUB_ENTERPRISE_TOKEN",
        ),
        ("ghe.example.org", {**ALL, "GH_HOST": "GHE.example.org"}, "ent1", "GH_ENTERPRISE_TOKEN"),
    ],
)
def test_a_token_from_the_environment(host: str, environ: dict[str, str], value: str, source: str) -> None:
    token = token_for(host, environ)
    assert (token.value, token.source) == (value, source)
    assert value not in repr(token).replace(source, "")


@pytest.mark.parametrize("value", ["two words", "a\nb", "s\u00e9cret", "a\u200bb", "a\x00b"])
def test_what_cannot_be_a_token_is_refused_and_not_shown(value: str) -> None:
    with pytest.raises(NoToken) as caught:
        token_for("github.com", {"GH_TOKEN": value, "GITHUB_TOKEN": "fine"})
    told = "".join(traceback.format_exception(caught.value)) + caught.value.cause + caught.value.hint
    assert caught.value.message == "GH_TOKEN does not hold a valid token"
    assert value not in told


def test_gh_is_asked_for_this_host_without_the_tokens_of_others(tmp_path: Path) -> None:
    gh = tmp_path / "gh"
    gh.write_text('#!/bin/sh\nPATH=/usr/bin:/bin\nprintf "%s\\n" "$*" > "$0.args"; env > "$0.env"; echo " from-gh "\n')
    gh.chmod(0o755)
    environ = {**without("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"), "PATH": str(tmp_path), "GH_HOST": "x.org"}
    environ["HOME"] = "kept"
    token = token_for("ghe.example.org", environ)
    assert (token.value, token.source) == ("from-gh", "gh auth token")
    assert gh.with_suffix(".args").read_text() == "auth token --hostname ghe.example.org\n"
    seen = gh.with_suffix(".env").read_text()
    assert "HOME=kept\n" in seen
    assert [line for line in seen.splitlines() if "TOKEN" in line or line.startswith("GH_HOST")] == []
