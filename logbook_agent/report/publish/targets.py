"""What would be published, looked through for secrets, and where it goes: one file, a branch, a Space."""

from __future__ import annotations

import base64
import mimetypes
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from logbook_agent.model.errors import Rejected, RemoteError, StoreError, UsageError
from logbook_agent.report.page.document import INDEX
from logbook_agent.report.page.page import GENERATOR, write_report
from logbook_agent.running.provenance.git_calls import GitAnswer, write_git
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.store.places import repository_of
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import listed
from logbook_agent.text.redaction.redactor import Redactor

_NAMED = 5


class PublishedFile(Struct, frozen=True, kw_only=True):
    """A file of the report, with its path below the folder of the report."""

    path: str
    content: bytes

    @property
    def media_type(self) -> str:
        return mimetypes.guess_type(self.path)[0] or "application/octet-stream"

    @property
    def text(self) -> str | None:
        """All of it as a text, in which secrets can be looked for; None for another file."""
        try:
            return None if b"\0" in self.content else self.content.decode()
        except UnicodeDecodeError:
            return None


def report_files(
    workspace: Workspace, folder: Path, books: Sequence[Book] | None, *, logs: bool
) -> tuple[PublishedFile, ...]:
    """Write a report into an empty folder, and return its files by path. Raises Rejected where one holds a secret."""
    write_report(workspace, folder, books, logs=logs)
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    found = tuple(
        PublishedFile(path=path.relative_to(folder).as_posix(), content=b"".join(Folder(folder).pieces(path)))
        for path in paths
    )
    check_no_secret(found, workspace.redactor)
    return found


def check_no_secret(files: Sequence[PublishedFile], redactor: Redactor) -> None:
    """Raises Rejected, naming the files in which a secret is left."""
    held = [file.path for file in files if _holds_secret(file, redactor)]
    if held:
        raise Rejected(
            f"a secret is left in {listed(held, _NAMED)}; nothing was published",
            cause="the pages are searched once more before they are published",
            hint="logbook report --out FOLDER, and look there; then correct the entry: logbook edit ID",
        )


def _holds_secret(file: PublishedFile, redactor: Redactor) -> bool:
    """Whether a text holds a secret; of another file, whether its bytes do."""
    text = file.text
    return redactor.in_binary(file.content) if text is None else redactor.text(text) != text


# An address in an attribute: not an anchor, and of no other place.
_LINK = re.compile(
    r"""<(?P<tag>a|img)(?P<before>\s[^<>]*?)(?P<name>href|src)="(?P<address>[^"#:?]+)"(?P<after>[^<>]*)>"""
)
# A file that is larger stays out.
FILE_BYTES = 2 * 2**20


def one_file(page: str, files: Mapping[str, PublishedFile]) -> tuple[PublishedFile, list[str]]:
    """The page of this name with every file of the report that it links inside, as an image or to be downloaded; and
    the paths of those that are too large. A link to what is not inside becomes text."""
    left_out: list[str] = []

    def inside(link: re.Match[str]) -> str:
        file = files.get(link["address"])
        if file is None:
            return link[0]
        if len(file.content) > FILE_BYTES or file.media_type == "text/html":
            left_out.extend([file.path] if file.media_type != "text/html" else [])
            return f"<span{link['before']}{link['after']}>"
        data = f"data:{file.media_type};base64,{base64.b64encode(file.content).decode()}"
        saved = f' download="{file.path.rpartition("/")[2]}"' if link["tag"] == "a" else ""
        return f'<{link["tag"]}{link["before"]}{link["name"]}="{data}"{saved}{link["after"]}>'

    text = _LINK.sub(inside, files[page].content.decode())
    return PublishedFile(path=page, content=text.encode()), list(dict.fromkeys(left_out))


# What the Hub shows of a Space, and reads its kind from.
_CARD_PATH = "README" + ".md"
_CARD = """---
title: {title}
sdk: static
app_file: index.html
pinned: false
---

Pages of a research logbook, as `logbook publish` wrote them.
"""


def upload(folder: Path, space: str, title: str) -> str:
    """Create the Space if it is missing, replace its files by those of a folder and a card, and return its address. The
    client finds the user's token and the endpoint. Raises UsageError without the client, RemoteError with what the Hub
    says."""
    try:
        from huggingface_hub import HfApi
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError
    except ModuleNotFoundError as error:
        raise UsageError(
            "huggingface_hub is not installed",
            cause="logbook publishes a Space through it",
            hint="pip install huggingface_hub, then: hf auth login",
        ) from error
    Folder(folder).write(_CARD_PATH, _CARD.format(title=title), durable=False)
    api = HfApi()
    try:
        address = api.create_repo(space, repo_type="space", space_sdk="static", exist_ok=True)
        api.upload_folder(
            repo_id=space,
            repo_type="space",
            folder_path=str(folder),
            delete_patterns="*",
            commit_message="logbook publish",
        )
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        raise RemoteError(
            f"the Space {space} was not updated", cause=str(error).splitlines()[0], hint="hf auth whoami"
        ) from error
    return str(address)


# Pages of GitHub are served as they are, and not built by Jekyll.
_AS_IT_IS = PublishedFile(path=".nojekyll", content=b"")
# Attributes of the user or the repository do not change what is committed.
_RAW = ("-c", "core.autocrlf=false", "-c", f"core.attributesFile={os.devnull}")
_TIMEOUT_S = 300.0


class PagesBranch(Struct, frozen=True, kw_only=True):
    """A branch of the repository at `top`."""

    top: Path
    name: str
    environ: Mapping[str, str]

    @classmethod
    def of(cls, folder: Path, name: str, environ: Mapping[str, str]) -> PagesBranch:
        """A branch that may be written. Raises UsageError for one that holds other files, or cannot be one."""
        place = repository_of(folder)
        if place is None:
            raise UsageError(
                f"{folder} is not in a git repository", cause="--branch commits the pages to one", hint="git init"
            )
        branch = cls(top=place.top, name=name, environ=environ)
        if branch._git("check-ref-format", "--branch", name).code != 0:
            raise UsageError(
                f"{name!r} cannot be the name of a branch", cause="git refuses it", hint="--branch gh-pages"
            )
        lost, other = "its files would be replaced by the pages", f"--branch gh-pages, or: git branch -D {name}"
        if f"branch refs/heads/{name}" in branch._git("worktree", "list", "--porcelain").lines():
            raise UsageError(f"{name} is checked out here", cause=lost, hint="--branch gh-pages")
        if branch._git("rev-parse", "-q", "--verify", "HEAD").code != 0:
            cause = "the branch of the pages is added to a repository that has commits"
            raise UsageError(f"{place.top} has no commit yet", cause=cause, hint="git commit --allow-empty -m start")
        if branch.head and GENERATOR not in branch._git("show", f"{branch.head}:{INDEX}").out:
            raise UsageError(f"{name} holds other files than pages of a report", cause=lost, hint=other)
        return branch

    @property
    def head(self) -> str:
        """The commit that it is at; empty for a branch that is not there."""
        return self._git("rev-parse", "-q", "--verify", f"refs/heads/{self.name}").out.decode().strip()

    def commit(self, files: Sequence[PublishedFile], message: str) -> str | None:
        """Commit the files as all that the branch holds; the new commit, or None where it holds them already."""
        before = self.head
        with tempfile.TemporaryDirectory() as made:
            tree = Path(made) / "pages"
            self._text("worktree", "add", "--quiet", "--no-checkout", "--detach", str(tree))
            try:
                for file in (*files, _AS_IT_IS):
                    Folder(tree).make((tree / file.path).parent)
                    Folder(tree).write(file.path, [file.content], durable=False)
                self._text("add", "--all", "--force", ".", top=tree)
                content = self._text("write-tree", top=tree)
                if before and self._text("rev-parse", f"{before}^{{tree}}") == content:
                    return None
                parent = ["-p", before] if before else []
                commit = self._text("commit-tree", content, *parent, "-m", message, top=tree)
                self._text("update-ref", f"refs/heads/{self.name}", commit, before or "0" * len(commit))
            finally:
                self._text("worktree", "remove", "--force", str(tree))
        return commit

    def push(self, remote: str) -> None:
        """Push it. Raises RemoteError with what git says."""
        answer = self._git("push", "--", remote, f"refs/heads/{self.name}")
        if answer.code != 0:
            raise RemoteError(
                f"git could not push {self.name} to {remote}",
                cause=answer.words.splitlines()[-1] if answer.words else f"exit code {answer.code}",
                hint=f"the branch is committed; push it by hand: git push {remote} {self.name}",
            )

    def _git(self, *words: str, top: Path | None = None) -> GitAnswer:
        return write_git(top or self.top, [*_RAW, *words], self.environ, timeout_s=_TIMEOUT_S)

    def _text(self, *words: str, top: Path | None = None) -> str:
        """What a command prints that must not fail."""
        answer = self._git(*words, top=top)
        if answer.code != 0:
            cause = answer.words or f"exit code {answer.code}"
            raise StoreError(f"git {words[0]} failed", cause=cause, hint="git status")
        return answer.out.decode().strip()
