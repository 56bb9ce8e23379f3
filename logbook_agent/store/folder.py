"""The only way to a file: a folder, through which what lies below it is read, written, listed, locked and removed.

A repository that was pulled is untrusted, and git stores links as readily as files. So no link below a folder is
followed, wherever it leads, and only regular files are opened, without ever waiting. The folder itself may be reached
through links; whoever names it chooses it. Nobody ever meets half of a file that was written here.

Errors of the file system become StoreErrors: what happened to which file, the likely cause, and what to type.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeAlias

from msgspec import Struct

from logbook_agent.model.errors import Locked, StoreError

# How large files may be: far above what the tool writes and people type, and little enough to parse within seconds. A
# run keeps at most 20,000 rows of 64 Mi characters together, which are some 160 MiB as JSON.
SETTINGS_BYTES = 2**20
PROSE_BYTES = 16 * 2**20
RUN_BYTES = 256 * 2**20
VIEW_BYTES = 256 * 2**20
# A path relative to the folder, or an absolute one below it.
Name: TypeAlias = str | Path
_PIECE_BYTES = 1 << 20
# The permissions of a shared folder.
SHARED = 0o1777
# How long a lock is waited for.
LOCK_S = 30.0


class Folder(Struct, frozen=True):
    """The files below `path`. `bounds`: the folder above it which no absolute name may leave, and below which no link
    is followed; default: `path` itself.

    A method raises StoreError, which names the file, for what cannot be done or leads outside.
    """

    path: Path
    bounds: Path | None = None
    # Whether what is written is on the disk before the call returns.
    is_durable: bool = True

    def below(self, name: Name) -> Folder:
        """A folder below this one, with the same bounds. It need not exist."""
        return Folder(self.path / name, self.bounds or self.path, self.is_durable)

    def at(self, name: Name = "") -> Path:
        """The absolute path of a file; not checked."""
        return name if isinstance(name, Path) and name.is_absolute() else self.path / name

    def has(self, name: Name) -> bool:
        """Whether something has this name, be it a link that leads nowhere."""
        return os.path.lexists(self.at(name))

    def check(self, name: Name, *, is_folder: bool = False) -> Path:
        """The path of a file, whose folders are no links. The last step is the caller's: opened without following a
        link, or replaced. `is_folder`: that step is no link either."""
        path = self.at(name)
        bounds = self.bounds or self.path
        top, text = os.fspath(bounds).rstrip("/"), os.fspath(path)
        steps = text[len(top) + 1 :].split("/")
        if not text.startswith(f"{top}/") or any(step in ("", ".", "..") or "\0" in step for step in steps):
            raise StoreError(
                f"{text!r} is not below {bounds}",
                cause="a name in a logbook file points outside its folder",
                hint="logbook doctor",
            )
        place = top
        for step in steps if is_folder else steps[:-1]:
            place = f"{place}/{step}"
            try:
                mode = os.lstat(place).st_mode
            except OSError:
                break  # it is not there yet, or the operation itself will say what is wrong
            if stat.S_ISLNK(mode):
                raise not_regular(Path(place), mode)
        return path

    def _replaceable(self, name: Name) -> tuple[Path, int | None]:
        """The path of a file that is written, and the permissions of the regular file that is there."""
        path = self.check(name)
        mode = mode_of(path)
        if mode is not None and not stat.S_ISREG(mode):
            raise not_regular(path, mode)
        return path, None if mode is None else stat.S_IMODE(mode)

    # -- reading ---------------------------------------------------------------------------------

    def read(self, name: Name, *, limit: int) -> bytes:
        """The content of a regular file of at most `limit` bytes."""
        return content(self.check(name), os.O_NOFOLLOW, limit)

    def text(self, name: Name, *, limit: int = PROSE_BYTES) -> str:
        """`read` as text in UTF-8, with `\\n` for every end of a line."""
        return text_of(self.read(name, limit=limit), self.at(name))

    def open(self, name: Name) -> BinaryIO:
        """A regular file, open for reading, for what is too much to be held at once."""
        return os.fdopen(opened(self.check(name), os.O_NOFOLLOW)[0], "rb")

    def pieces(self, name: Name) -> Iterator[bytes]:
        """The content of a regular file, a piece at a time. Raises OSError, too, while it is read."""
        with self.open(name) as file:
            yield from iter(lambda: file.read(_PIECE_BYTES), b"")

    def digest(self, name: Name) -> str:
        """The SHA-256 of a regular file, in hexadecimal."""
        digest = hashlib.sha256()
        for piece in self.pieces(name):
            digest.update(piece)
        return digest.hexdigest()

    def names(self, name: Name = "") -> list[str]:
        """The names in a folder, in no order; none when it is not there."""
        folder = self._folder(name)
        try:
            return os.listdir(folder)  # noqa: PTH208
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise unreadable(folder, error) from error

    def _folder(self, name: Name) -> Path:
        """The path of a folder, which is no link; of this one too, unless it is the bounds."""
        folder = self.at(name)
        return folder if folder == (self.bounds or self.path) else self.check(folder, is_folder=True)

    # -- writing ---------------------------------------------------------------------------------

    def write(
        self, name: Name, data: str | bytes | Iterable[bytes], *, durable: bool = True, private: bool = False
    ) -> None:
        """Replace a file and keep its permissions: a temporary file of its own beside it, fsync, rename, fsync of the
        folder. After an error the old content stands, and no temporary file is left.

        Not `durable`: for what can be made again, because a power cut may leave it empty. A new `private` file is for
        this user alone. A lone surrogate, which no record holds, is written as `?`.
        """
        path, mode = self._replaceable(name)
        durable = durable and self.is_durable
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
        pieces = data.encode("utf-8", "replace") if isinstance(data, str) else data
        with writing(path):
            descriptor = self._create(temporary, os.O_RDWR | os.O_EXCL, 0o600 if private else 0o666)
            try:
                # Closing a file on a full disk fails, too.
                with os.fdopen(descriptor, "wb") as file:
                    if mode is not None:
                        os.fchmod(descriptor, mode)
                    file.writelines((pieces,) if isinstance(pieces, bytes) else pieces)
                    file.flush()
                    if durable:
                        os.fsync(descriptor)
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
            if durable:
                folder = os.open(path.parent, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)

    def _create(self, name: Name, flags: int, mode: int = 0o666) -> int:
        return os.open(self.check(name), flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, mode)

    def create(self, name: Name, data: bytes) -> bool:
        """Create a file unless it exists; False when it does."""
        with writing(self.path / name):
            try:
                descriptor = self.create_log(name)
            except FileExistsError:
                return False
            with os.fdopen(descriptor, "wb") as handle:
                handle.write(data)
        return True

    def create_log(self, name: Name) -> int:
        """The descriptor of a new file for output; never of an earlier one. Raises OSError, too."""
        return self._create(name, os.O_WRONLY | os.O_EXCL)

    def write_at(self, name: Name, at: int, data: bytes) -> None:
        """Write bytes to their place in a file that grows; those that stand there are the same. Raises StoreError where
        bytes before them are missing."""
        with writing(path := self.check(name)), os.fdopen(self._create(path, os.O_WRONLY), "wb") as file:
            if at > os.fstat(file.fileno()).st_size:
                raise StoreError(f"{path} cannot be written from byte {at} on", cause="what stands before is missing")
            os.pwrite(file.fileno(), data, at)

    # -- folders ---------------------------------------------------------------------------------

    def make(self, name: Name = "", *, private: bool = False, shared: bool = False) -> None:
        """Create a folder and those above it unless they are there. A `private` one is for this user alone; in a
        `shared` one each user of the machine may make files, and none may touch those of others."""
        folder = self._folder(name)
        with writing(folder):
            try:
                folder.mkdir(mode=0o700 if private else 0o777, parents=True)
            except FileExistsError:
                if not folder.is_dir():
                    raise
            else:
                if shared:
                    folder.chmod(SHARED)

    # -- removing and moving ---------------------------------------------------------------------

    def remove(self, name: Name) -> None:
        """Remove a file, or a link itself, if it is there."""
        path = self.check(name)
        with writing(path):
            path.unlink(missing_ok=True)

    def remove_folder(self, name: Name) -> None:
        """Remove an empty folder."""
        path = self.check(name)
        with writing(path):
            path.rmdir()

    def remove_tree(self, name: Name) -> None:
        """Remove a folder with all that is in it, as far as that can be done; links in there are not followed."""
        path = self.check(name)
        shutil.rmtree(path, ignore_errors=True)
        if path.is_dir() and not path.is_symlink():
            # Some folders in it are read-only.
            with contextlib.suppress(OSError):
                path.chmod(0o700)
                for folder, names, _ in os.walk(path):
                    for below in (Path(folder, name) for name in names):
                        if not below.is_symlink():
                            below.chmod(0o700)
            shutil.rmtree(path, ignore_errors=True)

    def move(self, name: Name, new: Name) -> None:
        """Move a file or folder. What has the new name already is the business of the caller."""
        old, path = self.check(name), self.check(new)
        with writing(path):
            old.rename(path)

    # -- locks -----------------------------------------------------------------------------------

    def open_lock(self, name: Name) -> int:
        """The descriptor of a lock file, which is created when it is missing."""
        path, _ = self._replaceable(name)
        with writing(path):
            descriptor = self._create(path, os.O_RDWR | os.O_NONBLOCK)
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            os.close(descriptor)
            raise not_regular(path, mode)
        return descriptor

    @contextmanager
    def lock(self, name: Name, *, timeout_s: float = LOCK_S) -> Iterator[None]:
        """Hold a lock file until the block is left. Raises Locked, which names the holder, after `timeout_s`. The
        kernel releases it when its process ends."""
        path = self.path / name
        descriptor = self.open_lock(path)
        try:
            while (is_taken := take(descriptor, timeout_s)) and not os.fstat(descriptor).st_nlink:
                # Its holder removed it.
                gone, descriptor = descriptor, self.open_lock(path)
                os.close(gone)
            if not is_taken:
                holder = os.pread(descriptor, 200, 0).decode(errors="replace") or "an unknown process"
                raise Locked(
                    f"{path.parent.name} is locked by {holder}",
                    holder=holder,
                    cause="another logbook command has held the lock for too long; it may be stopped",
                    hint="look at that process, end it if it hangs, and run the command again",
                )
            # On a full disk the lock names nobody.
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, f"pid {os.getpid()} on {os.uname().nodename}".encode(), 0)
            yield
        finally:
            os.close(descriptor)

    def is_locked(self, name: Name) -> bool:
        """Whether a process that lives holds a lock file."""
        try:
            # For reading alone: a look makes no file, not even where the folder is just being removed.
            file = self.open(name)
        except StoreError:
            if self.has(name):
                raise
            return False
        with file:
            # Shared: two who only look do not take one another for a holder.
            return not take(file.fileno(), kind=fcntl.LOCK_SH)


def append_named(path: Path, text: str) -> None:
    """Add to the end of a file that the user's environment names, such as $GITHUB_OUTPUT; it need not exist."""
    with writing(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(text.encode("utf-8", "replace"))


_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a symbolic link",
}
_PAUSE_S = 0.005


def read_named(path: Path, *, limit: int) -> bytes:
    """The content of a regular file that the user named, whose links are followed. Raises StoreError."""
    return content(path, 0, limit)


def named_text(path: Path, *, limit: int = PROSE_BYTES) -> str:
    """`read_named` as text in UTF-8, with `\\n` for every end of a line."""
    return text_of(read_named(path, limit=limit), path)


def content(path: Path, flags: int, limit: int) -> bytes:
    descriptor, size = opened(path, flags)
    try:
        data = b""
        while size <= limit and (piece := os.read(descriptor, max(size - len(data), 0) + 1)):
            data += piece
            size = max(size, len(data))
    except OSError as error:
        raise unreadable(path, error) from error
    finally:
        os.close(descriptor)
    if size > limit:
        raise StoreError(
            f"{path} has more than {limit} bytes",
            cause=f"a file of this kind holds at most {limit // 2**20} MiB; another program wrote it",
            hint=f"look at it: ls -l {path}",
        )
    return data


def opened(path: Path, flags: int) -> tuple[int, int]:
    """Descriptor and size of a regular file. A pipe or device is opened without waiting for it, and closed at once."""
    try:
        descriptor = os.open(path, flags | os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        # The system has no descriptor for a link (ELOOP) and none for a socket (ENXIO).
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO) and (mode := mode_of(path)) is not None:
            raise not_regular(path, mode) from error
        raise unreadable(path, error) from error
    state = os.fstat(descriptor)
    if not stat.S_ISREG(state.st_mode):
        os.close(descriptor)
        raise not_regular(path, state.st_mode)
    return descriptor, state.st_size


def mode_of(path: Path) -> int | None:
    try:
        return path.lstat().st_mode
    except OSError:
        return None


def take(descriptor: int, timeout_s: float = 0, *, kind: int = fcntl.LOCK_EX) -> bool:
    """Take a lock; whether that was possible in this time."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_PAUSE_S)
        else:
            return True


# -- errors ---------------------------------------------------------------------------------------


def not_regular(path: Path, mode: int) -> StoreError:
    kind = _KINDS.get(stat.S_IFMT(mode), "a special file")
    cause = "a logbook holds only regular files and folders; anything else is neither read nor written"
    if stat.S_ISLNK(mode):
        cause = "links inside the logbook folder are not followed: they may point outside"
    return StoreError(f"{path} is {kind}", cause=cause, hint=f"look at it: ls -ld {path}")


def unreadable(path: Path, error: OSError) -> StoreError:
    return StoreError(f"cannot read {path}: {error.strerror}", cause="reported by the file system")


def text_of(data: bytes, path: Path) -> str:
    """The text of a file's content, with `\\n` for every end of a line. Raises StoreError when it is no UTF-8."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise StoreError(
            f"{path} is not UTF-8 text (byte {error.start})",
            cause="it was written by another program",
            hint="restore the file from git, then run: logbook status",
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise StoreError about the file that is written for every OSError in the block."""
    try:
        yield
    except OSError as error:
        cause = "the disk is full or read-only, a limit is reached, or the folder belongs to somebody else"
        hint = f"look at: df -h {path.parent} ; ls -ld {path.parent} ; ulimit -f"
        if isinstance(error, NotADirectoryError):
            file = next((above for above in path.parents if os.path.lexists(above) and not above.is_dir()), path.parent)
            cause, hint = f"no folder can be made below {file}, which is something else", f"ls -ld {file}"
        elif isinstance(error, FileNotFoundError):
            cause, hint = "its folder was moved or removed", "type in its new place: logbook doctor"
        raise StoreError(f"cannot write {path}: {error.strerror or error}", cause=cause, hint=hint) from error
