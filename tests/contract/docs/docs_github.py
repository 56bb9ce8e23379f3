"""The GitHub that documents speak to: the emulator of the tests, under an address that never changes on paper.

It has the repository acme/moe with one commit and the issues of `ISSUES`, opened by acme. What a document pushes there
goes to a bare repository in its home, and counts as known to the server. The token stands in the environment alone.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
# As documents have it; the port that is listened on is another one each time.
ADDRESS = "127.0.0.1:4701"
OWNER, NAME, USER = "acme", "moe", "ada"
# From number 1 on.
ISSUES = ("Grouped matmul on one host", "Can we train in int8?")


class _Received(set[str]):
    """The commits that a bare repository holds."""

    def __init__(self, bare: Path) -> None:
        super().__init__()
        self._bare = bare

    def __contains__(self, commit: object) -> bool:
        asked = ["git", f"--git-dir={self._bare}", "cat-file", "-e", f"{commit}^{{commit}}"]
        return subprocess.run(asked, capture_output=True, check=False).returncode == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A server for one document; `environment` is what its commands need beside the bare one."""

    address: str
    token: str
    environment: Mapping[str, str]

    def there(self, text: str) -> str:
        """What a document says, as it is run."""
        return text.replace(ADDRESS, self.address)

    def back(self, text: str) -> str:
        """What was printed, as it stands in the document. The token is nowhere in it."""
        assert self.token not in text, "the token was printed"
        return text.replace(self.address, ADDRESS)


def is_needed(text: str) -> bool:
    """Whether a document speaks to a GitHub."""
    return ADDRESS in text


@contextlib.contextmanager
def serving(home: Path) -> Iterator[Served]:
    if str(REPOSITORY) not in sys.path:
        sys.path.insert(0, str(REPOSITORY))
    from tests.emulator.proxy import Proxy, public_token

    with Proxy((OWNER, USER)) as proxy:
        _ask(proxy, "POST", "/user/repos", {"name": NAME, "auto_init": True})
        _ask(proxy, "PUT", f"/repos/{OWNER}/{NAME}/collaborators/{USER}", {"permission": "push"})
        for title in ISSUES:
            _ask(proxy, "POST", f"/repos/{OWNER}/{NAME}/issues", {"title": title, "body": "Discuss here."})
        bare = home / "github" / OWNER / f"{NAME}.git"
        subprocess.run(["git", "init", "-q", "--bare", "--initial-branch=main", str(bare)], check=True)
        proxy.pushed = _Received(bare)
        settings = home / "gitconfig"
        settings.write_text(
            f'[url "{home}/github/"]\n\tpushInsteadOf = {proxy.web}/\n[init]\n\tdefaultBranch = main\n',
            encoding="utf-8",
        )
        token = public_token(USER)
        environment = {
            "GH_ENTERPRISE_TOKEN": token,
            "GIT_CONFIG_GLOBAL": str(settings),
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
            "GH_HOST": proxy.web.removeprefix("http://"),
        }
        yield Served(address=proxy.web.removeprefix("http://"), token=token, environment=environment)
        assert proxy.troubles == []


def _ask(proxy: object, method: str, path: str, data: Mapping[str, object]) -> None:
    from tests.emulator.proxy import Proxy

    assert isinstance(proxy, Proxy)
    reply = proxy.emulator.ask(method, path, user=OWNER, content=json.dumps(data).encode())
    assert reply.status < 300, reply
