"""A token goes to its own host alone, and an issue that has moved is named."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from logbook_agent.model.errors import (
    AnswerLost,
    IssueMoved,
    RemoteError,
    Unreachable,
)
from tests.emulator import faults
from tests.emulator.faults import Fault
from tests.emulator.fixtures import Hub
from tests.unit.issue.adapter_support import WRITES, Connect, everything, post


def test_a_moved_issue_is_named(github: Hub, connect: Connect) -> None:
    """Each plan begins with reading the issue, so nothing is written to one that has moved."""
    repo, other = github.new_repo(), github.new_repo()
    number = [github.open_issue_as("ada", other) for _ in range(3)][-1]
    github.rules.add(".*", f"{repo}/", faults.moved(f"{github.api}/repos/{other}/issues/{number}"))
    with pytest.raises(IssueMoved) as caught:
        connect(repo).issue(1)
    url = f"{github.web}/{other}/issues/3"
    assert caught.value.message.endswith(f" is now {url}")
    assert caught.value.hint == f"logbook link {url} --replace; then: logbook sync"


@pytest.mark.parametrize("status", [307, 308])
def test_a_write_follows_no_redirect(github: Hub, connect: Connect, status: int) -> None:
    """What GitHub answers to a write that would go elsewhere."""
    repo, other = github.new_repo(), github.new_repo()
    github.open_issue_as("ada", other)
    github.rules.add(".*", f"{repo}/", faults.moved(f"{github.api}/repos/{other}/issues/1/comments", status))
    for write in WRITES:
        with pytest.raises(AnswerLost):
            write(connect(repo))
    assert [request for request in github.requests if request.applied] == []


def test_a_repository_with_another_name_is_told_before_anything_is_opened_there(github: Hub, connect: Connect) -> None:
    repo, other = github.new_repo(), github.new_repo()
    github.rules.add("GET", f"{repo}$", faults.moved(f"{github.api}/repos/{other}"))
    with pytest.raises(IssueMoved, match="has another name or owner now"):
        connect(repo).check_name()
    connect(other).check_name()


def test_an_answer_for_another_repository_is_a_moved_issue(github: Hub, connect: Connect) -> None:
    repo = github.new_repo()
    github.open_issue_as("ada", repo)

    def named(other: str) -> Fault:
        def answers(_request: object, true: faults.Reply | None) -> faults.Reply:
            assert true is not None
            return faults.Reply(status=200, content=true.content.replace(repo.encode(), other.encode()))

        return Fault(name="named", applied=True, answers=answers)

    # Names of accounts and repositories are the same in capitals.
    github.rules.add("GET", "/issues/1$", named(repo.upper()), times=1)
    assert connect(repo).issue(1).number == 1
    github.rules.add("GET", "/issues/1$", named("bob/elsewhere"))
    with pytest.raises(IssueMoved, match=f"is now {github.web}/bob/elsewhere/issues/1$"):
        connect(repo).issue(1)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_leads_to_another_host(github: Hub, connect: Connect, status: int) -> None:
    repo = github.new_repo()
    github.open_issue_as("ada", repo)
    port = int(github.host.rsplit(":", 1)[1])
    for other in (f"http://localhost:{port}/api/v3/user", f"https://127.0.0.1:{port}/"):
        github.rules.clear()
        github.rules.add(".*", repo, faults.moved(other, status))
        for act in (lambda: connect(repo).issue(1), lambda: connect(repo).post_comment(1, "text")):
            with pytest.raises((Unreachable, AnswerLost)):
                act()
    assert {request.path.rsplit("/issues/1", 1)[0] for request in github.requests} == {f"/repos/{repo}"}
    assert len(github.requests) == 4


def test_a_link_to_another_host_is_not_followed(github: Hub, connect: Connect) -> None:
    repo = github.new_repo()
    github.open_issue_as("ada", repo)
    for n in range(101):
        github.comment_as("ada", repo, 1, f"{n}")

    def astray(_request: object, true: faults.Reply | None) -> faults.Reply:
        assert true is not None
        link = '<http://127.0.0.1:9/elsewhere?page=2&per_page=100>; rel="next"'
        return faults.Reply(status=200, headers={**true.headers, "link": link}, content=true.content)

    github.rules.add("GET", "/comments$", Fault(name="astray", applied=True, answers=astray), times=1)
    with pytest.raises(RemoteError):
        connect(repo).comments(1)
    assert len(github.requests) == 1


@pytest.fixture
def impostor(tmp_path: Path) -> Iterator[str]:
    """The address of a server that speaks TLS with a certificate that nobody vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
    signed = made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "server.pem").write_bytes(secret + signed)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection = server.accept()[0]
                except OSError:
                    return
                with (
                    connection,
                    contextlib.suppress(OSError),
                    context.wrap_socket(connection, server_side=True) as safe,
                ):
                    safe.recv(1)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"https://127.0.0.1:{server.getsockname()[1]}/api/v3"
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)


@pytest.mark.slow
def test_a_certificate_that_is_not_accepted(github: Hub, connect: Connect, impostor: str) -> None:
    for act in (post, lambda remote: remote.issue(1)):
        with pytest.raises(Unreachable, match="could not prove its identity") as caught:
            act(connect("ada/any", api=impostor))
        assert caught.value.cause.startswith("its certificate was not accepted: ")
        assert github.token not in everything(caught.value)
