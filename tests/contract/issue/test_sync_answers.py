"""Answers of a host are untrusted: whatever comes back, the sync ends with an error that has a name, no terminal obeys
it, the token stands in nothing that is shown, and no other host is asked anything."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.contract.issue.sync_support import PEOPLE, Bench, settings
from tests.emulator import faults
from tests.emulator.faults import JSON, Fault, Reply, Request
from tests.seams import forged_block, set_github_pace, set_size

pytestmark = pytest.mark.slow

HURRIED = ("--max-wait", "0.1s")
SIGNS = "\x1b[2J\x1b]0;owned\x07 \x9b31m"


@pytest.fixture
def adopted(bench: Bench) -> Bench:
    bench.note()
    bench.adopt()
    return bench


def always(content: bytes | object, status: int = 200, **headers: str) -> Fault:
    content = content if isinstance(content, bytes) else json.dumps(content).encode()
    reply = Reply(status=status, headers={"content-type": JSON} | headers, content=content)
    return Fault(name="always", answers=lambda _request, _true: reply)


def harmless(bench: Bench, *args: str) -> str:
    """The code of the error that a sync ends with: short lines, and the token is nowhere near."""
    answer = bench.cli("sync", "--json", *HURRIED, *args)
    assert answer.code == 4, answer
    for part in (answer.error["message"], answer.error["cause"], answer.error["hint"]):
        assert 0 < len(part) < 1_000
        assert part.isprintable()
    assert bench.github.token not in answer.out + answer.err
    assert "Traceback" not in answer.err
    return answer.error["code"]


def comment(bench: Bench, number: int, body: str = "text") -> dict[str, Any]:
    url = f"{bench.github.web}/{bench.repo}/issues/1#issuecomment-{number}"
    return {"id": number, "html_url": url, "user": None, "body": body, "author_association": "NONE"}


BAD: dict[str, bytes | dict[str, Any]] = {
    "html": b"<html>Please log in</html>",
    "half": b'{"id": 1,',
    "deep lists": b"[" * 100_000,
    "half a character": {"body": "\ud800"},
    "a body of another kind": {"body": ["text"]},
    "signs in an address": {"html_url": "https://h.example.org/ada/any/issues/1\x1b]0;x\x07"},
    "signs in a login": {"user": {"login": "ada\x1b[2J"}},
}


@pytest.mark.parametrize("method", ["GET", "PATCH", "POST"])
@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
@pytest.mark.sample(8)
def test_an_answer_that_cannot_be_read(adopted: Bench, content: bytes | dict[str, Any], method: str) -> None:
    if isinstance(content, dict):
        issue = {"number": 1, "id": 7, "title": "t", "body": "text", "state": "open", "user": {"login": "ada"}}
        content = json.dumps(issue | {"html_url": f"{adopted.github.web}/{adopted.repo}/issues/1"} | content).encode()
    adopted.github.rules.add(method, "/issues/", always(content))
    assert harmless(adopted) == "unreachable"
    assert len(adopted.github.writes) == ("GET", "PATCH", "POST").index(method)


@pytest.mark.parametrize(
    "headers",
    [
        {"x-ratelimit-remaining": "inf", "x-ratelimit-limit": "nan"},
        {"x-ratelimit-reset": "1e999"},
        {"link": '<http://[half>; rel="next"'},
        {"content-type": "application/json; charset=idna"},
        {"content-encoding": "gzip"},
    ],
    ids=lambda headers: "-".join(headers),
)
@pytest.mark.sample(3)
def test_headers_that_say_nothing(adopted: Bench, headers: dict[str, str]) -> None:
    adopted.github.rules.add("GET", "/comments$", always([comment(adopted, 7)], **headers))
    assert harmless(adopted) == "unreachable"


@pytest.mark.parametrize("status", [401, 403, 404, 410, 422, 429, 500, 502])
@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b"\xff" * 100,
        {"message": SIGNS * 1_000},
        {"message": ["x"], "errors": [{"message": SIGNS}, {"code": {"a": 1}}, 3, None]},
    ],
    ids=["deep", "bytes", "signs", "kinds"],
)
@pytest.mark.sample(5)
def test_a_refusal_that_says_odd_things(adopted: Bench, status: int, content: object) -> None:
    for method in ("GET", "PATCH"):
        adopted.github.rules.add(method, "/issues/", always(content, status))
        harmless(adopted)
        adopted.github.rules.clear()


def test_a_page_as_long_as_github_gives_is_read(adopted: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred comments, each as long as it may be."""
    set_github_pace(monkeypatch, timeout_s=60)
    page = [comment(adopted, n, "\u00e9" * 65_536) for n in range(1, 101)]
    adopted.github.rules.add("GET", "/comments$", always(page), times=1)
    adopted.sync()
    assert adopted.told() == ["MOE-000"]


@pytest.mark.parametrize("pages", [None, 1])
def test_a_list_without_an_end(adopted: Bench, monkeypatch: pytest.MonkeyPatch, pages: int | None) -> None:
    """Each page names another one: for ever, or itself."""
    set_size(monkeypatch, "pages of a list of GitHub's", 20)

    def answers(request: Request, true: Reply | None) -> Reply:
        page = int(request.query.rpartition("page=")[2]) + 1 if request.path == "/x" else 2
        link = f'<{adopted.github.api}/x?per_page=100&page={page % pages if pages else page}>; rel="next"'
        return Reply(status=200, headers={"content-type": JSON, "link": link}, content=content)

    content = json.dumps([comment(adopted, 7)]).encode()
    adopted.github.rules.add("GET", "/comments$|/x$", Fault(name="endless", answers=answers))
    assert harmless(adopted) == "unreachable"
    assert sum(not r.path.endswith(("/user", "/issues/1")) for r in adopted.github.requests) == 20


def test_comments_that_a_list_lags_behind_are_not_posted_again(thirty: Bench) -> None:
    thirty.adopt()

    def lagging(_: Request, true: Reply | None) -> Reply:
        assert true is not None
        return Reply(
            status=200, headers={"content-type": JSON}, content=json.dumps(json.loads(true.content)[:1]).encode()
        )

    thirty.github.rules.add("GET", "/comments$", Fault(name="lagging", applied=True, answers=lagging))
    thirty.sync()
    thirty.github.rules.clear()
    thirty.settled(thirty.book.entry_ids(), people=PEOPLE)


def test_what_is_no_issue_of_ours(bench: Bench) -> None:
    """A pull request with our block, among the issues; and one's own issue without a text."""
    bench.note()
    url = f"{bench.github.web}/{bench.repo}/pull/1"
    pull = {"number": 1, "html_url": url, "title": "T", "body": forged_block(bench.book), "state": "open"}
    bench.github.rules.add("GET", "/issues$", always([pull | {"user": {"login": "ada"}, "locked": False}]))
    bench.sync("--create")
    assert [issue["number"] for issue in bench.github.issues(bench.repo)] == [bench.number]
    number = bench.github.ask("POST", f"/repos/{bench.repo}/issues", {"title": "Empty"})["number"]
    bench.ok("link", f"#{number}", "--replace")
    bench.sync()
    assert bench.around == ""


FAULTS = (faults.server_error(), faults.dropped(), faults.unauthorized(), faults.missing(), faults.secondary_limit())


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
@pytest.mark.sample(3)
def test_the_token_is_in_no_log_and_no_error(adopted: Bench, fault: Fault, caplog: pytest.LogCaptureFixture) -> None:
    adopted.github.rules.add("PATCH", "", fault)
    with caplog.at_level(logging.DEBUG), caplog.at_level(logging.DEBUG, "github"):
        harmless(adopted)
    assert "Authorization" in caplog.text
    assert adopted.github.token not in caplog.text
    assert {r.authorization for r in adopted.github.requests} == {f"token {adopted.github.token}"}
    holding = [path for path in adopted.folder.parent.rglob("*") if path.is_file()]
    assert not [path for path in holding if adopted.github.token.encode() in path.read_bytes()]


# -- elsewhere -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.sample(2)
def test_no_redirect_leads_to_another_host(adopted: Bench, status: int) -> None:
    port = adopted.github.host.rsplit(":", 1)[1]
    for other in (f"http://localhost:{port}/api/v3/user", f"https://127.0.0.1:{port}/"):
        for method in ("GET", "PATCH"):
            adopted.github.rules.add(method, "/issues/1", faults.moved(other, status))
            harmless(adopted)
            adopted.github.rules.clear()
    assert {request.host for request in adopted.github.requests} == {adopted.github.host}
    assert {request.path for request in adopted.github.writes} == {f"/repos/{adopted.repo}/issues/1"}


@pytest.mark.parametrize("status", [307, 308])
def test_a_write_follows_no_redirect(adopted: Bench, status: int) -> None:
    """What GitHub answers to a write that would go elsewhere."""
    other = adopted.github.new_repo()
    adopted.github.open_issue_as("ada", other)
    there = f"{adopted.github.api}/repos/{other}/issues/1"
    adopted.github.rules.add("PATCH", f"{adopted.repo}/", faults.moved(there, status))
    adopted.github.rules.add("POST", f"{adopted.repo}/", faults.moved(f"{there}/comments", status))
    assert harmless(adopted) == "unreachable"
    assert [request for request in adopted.github.writes if request.applied] == []


def test_an_answer_for_another_repository_is_a_moved_issue(adopted: Bench) -> None:
    def named(other: str) -> Fault:
        def answers(_request: object, true: Reply | None) -> Reply:
            assert true is not None
            return Reply(status=200, content=true.content.replace(adopted.repo.encode(), other.encode()))

        return Fault(name="named", applied=True, answers=answers)

    adopted.github.rules.add("GET", "/issues/1$", named("bob/elsewhere"))
    assert adopted.fails("issue_moved")["message"].endswith(f"{adopted.github.web}/bob/elsewhere/issues/1")
    # Names of accounts and repositories are the same in capitals.
    adopted.github.rules.clear()
    adopted.github.rules.add("GET", "/issues/1$", named(adopted.repo.upper()))
    adopted.sync()
    assert adopted.told() == ["MOE-000"]


def test_a_page_of_another_host_is_not_read(adopted: Bench) -> None:
    link = '<http://127.0.0.1:9/elsewhere?page=2&per_page=100>; rel="next"'
    adopted.github.rules.add("GET", "/comments$", always([comment(adopted, 7)], link=link), times=1)
    assert harmless(adopted) == "unreachable"
    assert adopted.github.writes == []


@pytest.fixture
def impostor(tmp_path: Path) -> Iterator[str]:
    """The address of a server that speaks TLS with a certificate that nobody vouches for."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    signed = made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    (tmp_path / "server.pem").write_bytes(key.private_bytes(*form) + signed)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    with server.accept()[0] as connection, contextlib.suppress(OSError):
                        context.wrap_socket(connection, server_side=True).recv(1)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def test_a_certificate_that_is_not_accepted(bench: Bench, impostor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.note()
    text = settings(bench.github, bench.repo).replace(bench.github.web, f"https://{impostor}")
    (bench.folder / "logbook.toml").write_text(text)
    monkeypatch.setenv("GH_HOST", impostor)
    error = bench.fails("unreachable", "--create", *HURRIED)
    assert "identity" in error["message"] + error["cause"]
    assert bench.github.token not in str(error)
