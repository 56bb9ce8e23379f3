"""Which issue of which repository on which host, and the addresses of things there.

A host is written as in an address, with its port when that is not the usual one. Without TLS only this machine is
spoken to, because the token goes with every request.
"""

from __future__ import annotations

import re
from typing import NoReturn
from urllib.parse import SplitResult, quote, urlsplit

from msgspec import Struct

from logbook_agent.model.errors import UsageError

GITHUB_HOST = "github.com"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_USUAL_PORTS = {"https": 443, "http": 80}

_HOST = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")
# Accounts of an enterprise end in an underscore and its short name.
_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_NAME = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")
_NUMBER = re.compile(r"[1-9][0-9]{0,9}")
_ISSUE_PATH = re.compile(
    r"/([^/]+)/([^/]+)/(?:issues/([0-9]+)/?|pull/([0-9]+)(?:/(?:files|commits|checks)(?:/.*)?)?/?)"
)
_SCP = re.compile(r"(?:[^@/:\s]+@)?([^@/:\s]{2,}):(?!//)/?(.+)")
_GIT_SCHEMES = {"https", "http", "ssh", "git", "git+ssh", "ssh+git", "git+https"}
# GitHub's other names for the same place.
_ALIASES = {"www.github.com": GITHUB_HOST, "ssh.github.com": GITHUB_HOST}


class Site(Struct, frozen=True, kw_only=True):
    """A GitHub: github.com, or an Enterprise by its host."""

    scheme: str = "https"
    host: str = GITHUB_HOST

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.host}"

    @property
    def api(self) -> str:
        """Base URL of its REST API, where no setting names another."""
        if self.host == GITHUB_HOST:
            return "https://api.github.com"
        is_cloud = self.host.partition(":")[0].endswith(".ghe.com")
        return f"https://api.{self.host}" if is_cloud else f"{self.origin}/api/v3"


class RepositoryAddress(Site, frozen=True, kw_only=True):
    """A repository on a GitHub."""

    owner: str
    name: str

    @property
    def slug(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def web(self) -> str:
        return f"{self.origin}/{self.slug}"


class IssueAddress(Struct, frozen=True, kw_only=True):
    """An issue, or a pull request: they share their numbers."""

    repository: RepositoryAddress
    number: int

    @property
    def web(self) -> str:
        return f"{self.repository.web}/issues/{self.number}"


# -- reading what people write -----------------------------------------------------------------------


def parse_site(text: str) -> Site:
    """A host, or the base URL of one, with nothing behind it. Raises UsageError."""
    text = text.strip()
    parts = _split(text if "://" in text else f"https://{text}", text)
    if parts.path.strip("/") or parts.query or parts.fragment:
        _refuse(text, "expected a host and nothing after it", "write: ghe.example.org, or https://ghe.example.org")
    return _site(parts, text)


def parse_repository(text: str, *, site: Site | None = None) -> RepositoryAddress:
    """`OWNER/REPO` on `site` (github.com unless given), or a repository's URL. Raises UsageError."""
    text = text.strip()
    site = site or Site()
    path = text
    if "://" in text:
        parts = _split(text, text)
        site, path = _site(parts, text), parts.path.strip("/").removesuffix(".git")
    owner, _, name = path.partition("/")
    return _repository(site, owner, name, text)


def parse_issue(text: str, *, default: RepositoryAddress | None = None, site: Site | None = None) -> IssueAddress:
    """An issue's URL, `OWNER/REPO#N`, or `#N` or `N` in `default`. Raises UsageError.

    `site`: where `OWNER/REPO#N` is; unless given, where `default` is, else github.com.
    """
    text = text.strip()
    if "://" in text:
        parts = _split(text, text)
        found = _ISSUE_PATH.fullmatch(parts.path)
        if found is None:
            _refuse(text, "the address of an issue ends in OWNER/REPO/issues/N", _EXAMPLE)
        repository = _repository(_site(parts, text), found[1], found[2], text)
        return IssueAddress(repository=repository, number=_number(found[3] or found[4], text))
    slug, sharp, number = text.rpartition("#")
    if slug:
        repository = parse_repository(slug, site=site or default)
        return IssueAddress(repository=repository, number=_number(number, text))
    if not number.isdecimal():
        _refuse(text, "it is neither an address nor OWNER/REPO#N", _EXAMPLE)
    if default is None:
        raise UsageError(
            f"{sharp}{number} needs a repository",
            cause="no repository is configured, and no git remote names one",
            hint=f'write OWNER/REPO#{number}, or set in logbook.toml: [github] repository = "OWNER/REPO"',
        )
    return IssueAddress(repository=default, number=_number(number, text))


def parse_remote(url: str) -> RepositoryAddress | None:
    """The repository that a git remote leads to; None for a local path and for what cannot be one on a GitHub.

    Credentials are dropped. A name that ssh alone understands (no dot in it) is no address. The web is taken to
    be at https, whatever git itself speaks; http is kept for this machine.
    """
    if "://" not in url and (found := _SCP.fullmatch(url.strip())) is not None:
        url = f"ssh://{found[1]}/{found[2]}"
    try:
        parts = urlsplit(url.strip())
        scheme, host, port = parts.scheme, _bracketed(parts.hostname), parts.port
    except ValueError:
        return None
    is_web = scheme in _USUAL_PORTS
    if scheme not in _GIT_SCHEMES or not _is_host(host) or not (is_web or "." in host or host in _LOOPBACK):
        return None
    owner, _, name = parts.path.strip("/").removesuffix(".git").partition("/")
    if not _OWNER.fullmatch(owner) or not _NAME.fullmatch(name):
        return None
    web = "http" if scheme == "http" and host in _LOOPBACK else "https"
    host = _ALIASES.get(host, host)
    if is_web and port not in (None, _USUAL_PORTS[scheme]):
        host = f"{host}:{port}"
    return RepositoryAddress(scheme=web, host=host, owner=owner, name=name)


# -- addresses of things in a repository -------------------------------------------------------------


def blob(repository: RepositoryAddress, commit: str, path: str, line: int | None = None) -> str:
    """A file at a commit. With a line it is shown as plain text: rendered Markdown has no lines."""
    place = "" if line is None else f"?plain=1#L{line}"
    return f"{repository.web}/blob/{commit}/{_quoted(path)}{place}"


def picture(repository: RepositoryAddress, commit: str, path: str) -> str:
    """A picture at a commit, as a comment may show it. The address of the page with `?raw=true` leads to the bytes for
    everybody who may read the repository, be it private."""
    return f"{repository.web}/blob/{commit}/{_quoted(path)}?raw=true"


def tree(repository: RepositoryAddress, name: str) -> str:
    """All files at a tag, branch or commit."""
    return f"{repository.web}/tree/{_quoted(name)}"


def commit(repository: RepositoryAddress, sha: str) -> str:
    return f"{repository.web}/commit/{sha}"


def _quoted(path: str) -> str:
    return quote(path, safe="/", errors="surrogateescape")


# -- parts -------------------------------------------------------------------------------------------

_EXAMPLE = "write: https://github.com/OWNER/REPO/issues/12, or OWNER/REPO#12"


def _split(url: str, text: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port  # checks that it is a number within bounds
    except ValueError:
        _refuse(text, "it is not a valid address", _EXAMPLE)
    return parts


def _site(parts: SplitResult, text: str) -> Site:
    if parts.username is not None or parts.password is not None:
        # The text is not shown: it holds a credential, or pretends to be another host.
        raise UsageError(
            "the address has a user or a password in it",
            cause="credentials do not belong in an address",
            hint="remove everything before the @; a token comes from the environment",
        )
    scheme, host = parts.scheme.lower(), _bracketed(parts.hostname)
    if scheme not in _USUAL_PORTS or not _is_host(host):
        _refuse(text, "it is not the address of a web host", _EXAMPLE)
    host = _ALIASES.get(host, host)
    if scheme == "http" and host not in _LOOPBACK:
        raise UsageError(
            f"{_shown(text)} would send the token in clear text",
            cause="http is not encrypted; it is allowed only for this machine (127.0.0.1, localhost)",
            hint=f"write: https://{host}",
        )
    port = None if parts.port == _USUAL_PORTS[scheme] else parts.port
    return Site(scheme=scheme, host=host if port is None else f"{host}:{port}")


def _repository(site: Site, owner: str, name: str, text: str) -> RepositoryAddress:
    if not _OWNER.fullmatch(owner) or not _NAME.fullmatch(name):
        _refuse(text, "a repository is OWNER/REPO: letters, digits, - _ and, in REPO, dots", "write: OWNER/REPO")
    return RepositoryAddress(scheme=site.scheme, host=site.host, owner=owner, name=name)


def _number(digits: str, text: str) -> int:
    if not _NUMBER.fullmatch(digits):
        _refuse(text, "issue numbers start at 1", _EXAMPLE)
    return int(digits)


def _bracketed(hostname: str | None) -> str:
    """A host as it stands in an address: `urlsplit` takes the brackets off an IPv6 one."""
    host = (hostname or "").lower()
    return f"[{host}]" if ":" in host else host


def _is_host(host: str) -> bool:
    return host in _LOOPBACK or (len(host) <= 253 and _HOST.fullmatch(host) is not None)


def _refuse(text: str, cause: str, hint: str) -> NoReturn:
    raise UsageError(f"{_shown(text)} cannot be read", cause=cause, hint=hint) from None


def _shown(text: str) -> str:
    """A text from outside for a message: one line, bounded, without what may be a credential."""
    shown = repr(re.sub(r"//[^/]*@", "//...@", text))
    return shown if len(shown) <= 80 else f"{shown[:76]}...{shown[-1]}"
