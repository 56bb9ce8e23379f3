"""The folder in which commands meet a document: a small store, and around it what no command may touch."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tools.fuzz.documents import Base
from tools.fuzz.mutations import CANARY
from tools.fuzz.values import Content, Document, Link, Pipe

REPOSITORY = Path(__file__).resolve().parents[2]
# What commands write to, of all that lies below the top: logbooks, the folder that an option names, locks of settings.
WRITABLE = (
    "work/logbooks/",
    "hub/logbooks/",
    "out/",
    "tmp/",
    "home/.cache/logbook-agent",
    "home/.local/state/logbook-agent",
)

State = tuple[int, int, int, int]


def laid_out(top: Path) -> None:
    """A logbook of every kind of record beside another one, a folder for GitHub, and canaries."""
    for name in ("outside", "out", "home", "tmp", "config/logbook-agent", "work/recipes", "hub"):
        (top / name).mkdir(parents=True)
    for folder in ("work", "hub"):
        shutil.copytree(REPOSITORY / "tests" / "stores" / "format-2", top / folder / "logbooks")
    for place in ("outside/canary.txt", "outside/canary.yaml", "canary.toml"):
        (top / place).write_text(f"format: {CANARY}\n")


def base_of(top: Path, github: bytes) -> Base:
    """The files that documents are made from."""
    found = {p: (top / p).read_bytes() for p in _files(top) if p.startswith("work/") and not p.endswith("output.log")}
    for folder, ending in (("recipes", "yaml"), ("templates", "j2")):
        found |= {f"{folder}/{p.name}": p.read_bytes() for p in sorted((REPOSITORY / folder).glob(f"*.{ending}"))}
    return dict(sorted(found.items())) | {"github.json": github}


def _files(top: Path) -> Iterator[str]:
    return (path for path, state in walked(top).items() if stat.S_ISREG(state[0]))


def walked(top: Path) -> dict[str, State]:
    """Everything below a folder, links not followed: kind, size, time and inode."""
    found: dict[str, State] = {}
    todo = [""]
    while todo:
        below = todo.pop()
        with os.scandir(f"{os.fspath(top)}/{below}") as entries:
            for entry in entries:
                state = entry.stat(follow_symlinks=False)
                path = f"{below}{entry.name}"
                is_folder = stat.S_ISDIR(state.st_mode)
                # Times and sizes of folders follow from what lies in them.
                found[path] = (
                    (state.st_mode, 0, 0, 0)
                    if is_folder
                    else (state.st_mode, state.st_size, state.st_mtime_ns, state.st_ino)
                )
                if is_folder:
                    todo.append(f"{path}/")
    return found


@dataclass(slots=True)
class Arena:
    """`top` as it was when this was made is what `restore` brings back."""

    top: Path
    _content: dict[str, bytes] = field(default_factory=dict)
    _states: dict[str, State] = field(default_factory=dict)
    _document: str | None = None

    def __post_init__(self) -> None:
        self._states = walked(self.top)
        self._content = {path: (self.top / path).read_bytes() for path in _files(self.top)}

    def place(self, document: Document) -> None:
        """Put the document where it belongs; nothing else is there but what always is."""
        if document.path is None:
            return
        path = self.top / document.path
        _make_way(path, self.top)
        put(path, document.content, self.top)
        self._document = document.path

    def changes(self) -> dict[str, bytes | None]:
        """What differs from before the document, by path, with its content where that is a file. The document is
        among them only where a command has changed it."""
        return {path: _content(self.top / path) for path in sorted(self._wrong())}

    def restore_document(self) -> None:
        """`restore`, when nothing but the document can have changed."""
        path, self._document = self._document, None
        if path is None:
            return
        whole = self.top / path
        if path in self._content and whole.is_file() and not whole.is_symlink():
            whole.write_bytes(self._content[path])
            state = whole.lstat()
            self._states[path] = (state.st_mode, state.st_size, state.st_mtime_ns, state.st_ino)
        else:
            self.restore()

    def restore(self) -> None:
        """Everything as it was."""
        self._document = None
        # What lies in a folder that was replaced is missing only once the folder is back.
        while wrong := self._wrong():
            for path in sorted((p for p in wrong if p not in self._states), key=len, reverse=True):
                remove(self.top / path)
            for path in sorted((p for p in wrong if p in self._states), key=len):
                self._restore(path)

    def _wrong(self) -> list[str]:
        now = walked(self.top)
        return [path for path in {*now, *self._states} if now.get(path) != self._states.get(path)]

    def _restore(self, path: str) -> None:
        whole, mode = self.top / path, self._states[path][0]
        if not stat.S_ISDIR(mode):
            remove(whole)
            whole.write_bytes(self._content[path])
            state = whole.lstat()
            self._states[path] = (state.st_mode, state.st_size, state.st_mtime_ns, state.st_ino)
            return
        if whole.is_symlink() or not whole.is_dir():
            remove(whole)
            whole.mkdir()
        whole.chmod(stat.S_IMODE(mode))


def _make_way(path: Path, top: Path) -> None:
    """Folders above the path, in place of files; nothing at the path itself."""
    steps = path.relative_to(top).parts[:-1]
    place = top
    for step in steps:
        place = place / step
        if not place.is_dir() or place.is_symlink():
            remove(place)
            place.mkdir()
    remove(path)


def put(path: Path, content: Content, top: Path) -> None:
    """A file, a link or a pipe."""
    if isinstance(content, Link):
        path.symlink_to(content.to.replace("{top}", os.fspath(top)))
    elif isinstance(content, Pipe):
        os.mkfifo(path)
    else:
        path.write_bytes(content)


def remove(path: Path) -> None:
    """Whatever is there, links themselves and not what they lead to."""
    if not os.path.lexists(path):
        return
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if stat.S_ISREG(path.lstat().st_mode) else None
    except OSError:
        return None
