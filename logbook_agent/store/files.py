"""The one place that changes files: so that nobody ever meets half of one, and nothing outside is touched.

Every function takes the folder `within` which it stays; `reading.py` says what that means. No other module writes
(`tests/unit/store/test_store_writers.py` holds the list of exceptions).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import glob
import hashlib
import os
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from logbook_agent.model.errors import Locked, StoreError
from logbook_agent.store.reading import check_place, check_target, not_regular, open_file

_PIECE_BYTES = 1 << 20
_PAUSE_S = 0.005
# How long a lock is waited for.
_LOCK_S = 30.0
_SHARED = 0o1777
_MAKING_PAUSES = 100
# Of many files that are written together, so many are open at a time, and so many wait for the disk.
_TOGETHER = 100
_SYNCS = 16


def write_atomic(
    path: Path, data: bytes, *, within: Path, durable: bool = True, derived: bool = False, private: bool = False
) -> None:
    """Replace `path` by `data`: a temporary file of its own beside it, fsync, rename, fsync of the folder.

    The last is left out for a `derived` file: after a power cut its old content may stand, and is made anew. A
    `private` file is for this user alone.
    Raises StoreError naming the file; then the old content stands and no temporary file is left.
    """
    write_pieces(path, (data,), within=within, durable=durable, derived=derived, private=private)


def write_pieces(
    path: Path,
    pieces: Iterable[bytes],
    *,
    within: Path,
    durable: bool = True,
    derived: bool = False,
    private: bool = False,
) -> None:
    """`write_atomic` for what is too much to be held at once."""
    temporary: Path | None = None
    try:
        with _as_store_error(path):
            descriptor, temporary = _beside(path, within, private=private)
            with os.fdopen(descriptor, "wb") as handle:
                handle.writelines(pieces)
                handle.flush()
                if durable:
                    os.fsync(handle.fileno())
            temporary.replace(path)
            temporary = None
            if durable and not derived:
                _sync_folder(path.parent)
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _beside(path: Path, within: Path, *, private: bool = False) -> tuple[int, Path]:
    """The descriptor and path of a new file that is to replace `path`, whose mode it has."""
    check_target(path, within)
    made = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    descriptor = _opened(made, within, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
    if not private:
        with contextlib.suppress(OSError):  # nothing stands there yet, or the file system has no modes
            os.fchmod(descriptor, path.lstat().st_mode & 0o777)
    return descriptor, made


def _opened(path: Path, within: Path | None, flags: int, mode: int = 0o666) -> int:
    """Open a file for writing; no other function does. No link below `within` is followed; None: the file is named by
    the user's environment. Raises StoreError for a path outside of `within`, else OSError."""
    if within is not None:
        check_place(path, within)
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode)


def write_together(files: Sequence[tuple[Path, bytes]], *, within: Path) -> None:
    """`write_atomic` for many files, which wait for the disk together: that takes little longer than for one of them.
    All are on disk when it returns; when it raises StoreError, some may be."""
    for start in range(0, len(files), _TOGETHER):
        _write_some(files[start : start + _TOGETHER], within)


def _write_some(files: Sequence[tuple[Path, bytes]], within: Path) -> None:
    if len(files) == 1:
        write_atomic(*files[0], within=within)
        return
    with contextlib.ExitStack() as stack:
        written = []
        for path, data in files:
            with _as_store_error(path):
                descriptor, temporary = _beside(path, within)
                stack.callback(temporary.unlink, missing_ok=True)
                handle = stack.enter_context(os.fdopen(descriptor, "wb"))
                handle.write(data)
                handle.flush()
                written.append((path, temporary, descriptor))
        _sync([(path, descriptor) for path, _, descriptor in written])
        for path, temporary, _ in written:
            with _as_store_error(path):
                temporary.replace(path)
        folders = []
        for path in {path.parent: path for path, *_ in written}.values():
            folders.append((path, os.open(path.parent, os.O_RDONLY)))
            stack.callback(os.close, folders[-1][1])
        _sync(folders)


def _sync(opened: Sequence[tuple[Path, int]]) -> None:
    """fsync them at the same time: the file system then writes its journal once for many."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_SYNCS) as pool:
        for (path, _), done in [(one, pool.submit(os.fsync, one[1])) for one in opened]:
            with _as_store_error(path):
                done.result()


def write_text(path: Path, text: str, *, within: Path, durable: bool = True, derived: bool = False) -> None:
    """`write_atomic` for text. A lone surrogate, which no record holds, is written as `?`."""
    write_atomic(path, text.encode("utf-8", "replace"), within=within, durable=durable, derived=derived)


def allocate(path: Path, size_bytes: int, *, within: Path) -> None:
    """Create a file of zeros whose disk space is allocated. Raises StoreError if the disk is full."""
    check_target(path, within)
    with _as_store_error(path):
        descriptor = _opened(path, within, os.O_WRONLY | os.O_CREAT)
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(descriptor, 0, size_bytes)
            else:
                os.write(descriptor, bytes(size_bytes))
        finally:
            os.close(descriptor)


def fill(path: Path, data: bytes, *, within: Path, name: Path | None = None) -> None:
    """Write at the start of an allocated file, which needs no more disk space. With `name`, the file is then cut to
    this length and renamed, so nobody reads half of it."""
    check_target(path, within)
    with _as_store_error(path):
        descriptor = _opened(path, within, os.O_WRONLY)
        try:
            os.pwrite(descriptor, data, 0)
            if name is not None:
                os.ftruncate(descriptor, len(data))
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
    if name is not None:
        move(path, name, within=within)


def create_exclusive(path: Path, data: bytes, *, within: Path) -> bool:
    """Create `path` with `data` unless it exists; False when it does."""
    with _as_store_error(path):
        try:
            descriptor = _opened(path, within, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            return False
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(data)
    return True


def create_log(path: Path, *, within: Path) -> int:
    """The descriptor of a new file for output; never of an earlier one, which would be lost. Raises OSError, too."""
    return _opened(path, within, os.O_WRONLY | os.O_CREAT | os.O_EXCL)


def append_text(path: Path, text: str) -> None:
    """Add to the end of a file that the user's environment names, such as $GITHUB_OUTPUT; it need not exist."""
    with _as_store_error(path):
        descriptor = _opened(path, None, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(text.encode("utf-8", "replace"))


def open_lock(path: Path, *, within: Path) -> int:
    """The descriptor of a lock file, which is created when it is missing."""
    check_target(path, within)
    with _as_store_error(path):
        descriptor = _opened(path, within, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise not_regular(path, mode)
    return descriptor


def make_folder(path: Path, *, within: Path, private: bool = False) -> None:
    """Create a folder and those above it, `within` included, unless they are there. A `private` one is for this user
    alone."""
    if path != within:
        check_place(path / "file", within)
    with _as_store_error(path):
        path.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)


def make_shared_folder(path: Path) -> None:
    """Create a folder in which each user of the machine may make files, and none may touch those of others. Raises
    StoreError where something else has its name."""
    with _as_store_error(path):
        try:
            path.mkdir()
        except FileExistsError:
            pass
        else:
            path.chmod(_SHARED)
    for _ in range(_MAKING_PAUSES):
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode) and mode & _SHARED == _SHARED:
            return
        time.sleep(_PAUSE_S)  # another process is just making it
    raise StoreError(
        f"{path} cannot be shared by the users of this machine",
        cause="another program made it, or its permissions were changed",
        hint=f"remove it, or type: chmod 1777 {path}",
    )


def create_folder(path: Path, *, within: Path) -> bool:
    """Create a folder unless something of its name exists; False when it does."""
    check_place(path, within)
    with _as_store_error(path):
        try:
            path.mkdir()
        except FileExistsError:
            return False
    return True


@contextmanager
def new_folder(path: Path, *, within: Path) -> Iterator[Path]:
    """A folder to be filled, which then takes the place of `path` and of whatever is there: the caller has looked.

    Until then it is called `.NAME.….tmp`, beside `path`, and is locked. After an exception it is gone, and what stood
    at `path` stands there still.
    """
    check_place(path, within)
    with _as_store_error(path):
        made = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
    old = made.with_name(f"{made.name.removesuffix('.tmp')}.old.tmp")
    lock = os.open(made, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield made
        made.chmod(0o777 & ~_umask())
        with _as_store_error(path):
            if os.path.lexists(path):
                path.rename(old)
            made.rename(path)
    except BaseException:
        if os.path.lexists(old) and not os.path.lexists(path):
            old.rename(path)
        raise
    finally:
        os.close(lock)
        shutil.rmtree(made, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def unfinished_folders(path: Path) -> list[Path]:
    """Folders that `new_folder` left beside `path` when its process was killed, without those that are being filled."""
    found = []
    for made in sorted(path.parent.glob(f".{glob.escape(path.name)}.*.tmp")):
        try:
            lock = os.open(made, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found.append(made)
        except BlockingIOError:
            pass
        finally:
            os.close(lock)
    return found


def remove(path: Path, *, within: Path) -> None:
    """Remove a file, or a link itself, if it is there."""
    check_place(path, within)
    with _as_store_error(path):
        path.unlink(missing_ok=True)


def remove_folder(path: Path, *, within: Path) -> None:
    """Remove an empty folder."""
    check_place(path, within)
    with _as_store_error(path):
        path.rmdir()


def remove_tree(path: Path, *, within: Path) -> None:
    """Remove a folder with all that is in it, as far as that can be done; links in there are not followed."""
    check_place(path, within)
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


def move(old: Path, new: Path, *, within: Path) -> None:
    """Move a file or folder. What stands there already is the business of the caller."""
    check_place(old, within)
    check_place(new, within)
    with _as_store_error(new):
        old.rename(new)


def relocate(old: Path, new: Path, *, within: Path) -> None:
    """Move a folder to a place that is free or an empty folder, and leave a link, for those who use the old name."""
    make_folder(new.parent, within=within, private=True)
    check_place(old, within)
    check_place(new, within)
    with _as_store_error(new):
        # On top of an empty folder it takes its place; any other is refused.
        old.rename(new)
        old.symlink_to(new)


def transfer(old: Path, new: Path, *, out_of: Path, within: Path) -> None:
    """Move a file or folder from below one folder of ours to below another, which may be on another disk: then it is
    complete there before it goes here."""
    check_place(old, out_of)
    check_place(new, within)
    with _as_store_error(new):
        try:
            old.rename(new)
            return
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
    if old.is_dir():
        with new_folder(new, within=within) as made, _as_store_error(new):
            shutil.copytree(old, made, symlinks=True, dirs_exist_ok=True)
        remove_tree(old, within=out_of)
    else:
        write_pieces(new, pieces_of(old, within=out_of), within=within)
        remove(old, within=out_of)


def copy(path: Path, new: Path, *, within: Path, durable: bool = False) -> None:
    """Copy a regular file, with the time of its last change."""
    with open_file(path, within=within) as file:
        state = os.fstat(file.fileno())
        write_pieces(new, iter(lambda: file.read(_PIECE_BYTES), b""), within=within, durable=durable)
    with contextlib.suppress(OSError):
        os.utime(new, ns=(state.st_atime_ns, state.st_mtime_ns))


def pieces_of(path: Path, *, within: Path) -> Iterator[bytes]:
    """The content of a regular file, a piece at a time. Raises StoreError, and OSError while it is read."""
    with open_file(path, within=within) as file:
        yield from iter(lambda: file.read(_PIECE_BYTES), b"")


def digest_of(path: Path, *, within: Path) -> str:
    """The SHA-256 of a regular file, in hexadecimal."""
    digest = hashlib.sha256()
    for piece in pieces_of(path, within=within):
        digest.update(piece)
    return digest.hexdigest()


@contextmanager
def _as_store_error(path: Path) -> Iterator[None]:
    """Errors of the file system as a StoreError about the file that is written."""
    try:
        yield
    except NotADirectoryError as error:
        file = next((above for above in path.parents if os.path.lexists(above) and not above.is_dir()), path.parent)
        raise StoreError(
            f"cannot write {path}: {error.strerror or error}",
            cause=f"no folder can be made below {file}, which is something else",
            hint=f"ls -ld {file}",
        ) from error
    except FileNotFoundError as error:
        raise StoreError(
            f"cannot write {path}: {error.strerror or error}",
            cause="its folder was moved or removed",
            hint="type in its new place: logbook doctor",
        ) from error
    except OSError as error:
        raise StoreError(
            f"cannot write {path}: {error.strerror or error}",
            cause="the disk is full or read-only, a limit is reached, or the folder belongs to somebody else",
            hint=f"look at: df -h {path.parent} ; ls -ld {path.parent} ; ulimit -f",
        ) from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    # The mask can only be read by setting it; the tool is single-threaded where it writes records.
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


# -- locks -----------------------------------------------------------------------------------------


@contextmanager
def locked(path: Path, *, within: Path, timeout_s: float = _LOCK_S) -> Iterator[None]:
    """Hold an exclusive lock on `path`. Raises Locked naming the holder after `timeout_s` seconds.

    The kernel releases the lock of a process that dies, so a dead holder never blocks anybody.
    """
    descriptor = open_lock(path, within=within)
    try:
        if not _waited_for(descriptor, timeout_s):
            raise _held(path, descriptor)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"pid {os.getpid()} on {os.uname().nodename}".encode(), 0)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Hold a lock on a folder itself, where a lock file would belong to whoever made it first. Raises StoreError."""
    with _as_store_error(folder):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not _waited_for(descriptor, _LOCK_S):
            raise StoreError(f"{folder} is locked", cause="another process has held the lock for too long")
        yield
    finally:
        os.close(descriptor)


def _waited_for(descriptor: int, timeout_s: float) -> bool:
    """Take a lock; whether that was possible in this time."""
    deadline = time.monotonic() + timeout_s
    while not _taken(descriptor):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_PAUSE_S)
    return True


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _held(path: Path, descriptor: int) -> Locked:
    holder = os.pread(descriptor, 200, 0).decode(errors="replace") or "an unknown process"
    return Locked(
        f"{path.parent.name} is locked by {holder}",
        holder=holder,
        cause="another logbook command has held the lock for too long; it may be stopped",
        hint="look at that process, end it if it hangs, and run the command again",
    )
