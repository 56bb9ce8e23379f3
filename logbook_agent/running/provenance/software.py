"""Versions of the packages that a command runs with, and the variables around it that matter.

Versions of packages are those of the Python that the command will run; no process is started, and only names of
`*.dist-info` folders are read. A command whose Python cannot be told gives nothing, rather than those of some other
Python.
"""

from __future__ import annotations

import fnmatch
import functools
import os
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from logbook_agent.model.code import CommandWords
from logbook_agent.running.provenance.machine import names_in

PACKAGES = frozenset(
    {
        *("jax", "jaxlib", "libtpu", "libtpu-nightly", "jax-cuda12-plugin", "jax-cuda12-pjrt"),
        *("jax-cuda13-plugin", "jax-cuda13-pjrt", "jax-rocm-plugin", "ml-dtypes", "numpy", "scipy"),
        *("flax", "equinox", "optax", "haliax", "levanter", "tokamax", "qwix", "aqtp", "orbax-checkpoint"),
        *("torch", "torch-xla", "torchao", "triton", "pytorch-triton", "transformer-engine", "flash-attn"),
        *("xformers", "vllm", "sglang", "megablocks", "tensorflow", "transformers", "deepspeed", "ray"),
        *("nvidia-cublas-cu12", "nvidia-cudnn-cu12", "nvidia-nccl-cu12", "nvidia-cuda-runtime-cu12"),
        *("nvidia-nvshmem-cu12", "nvidia-cutlass-dsl", "numba", "cupy-cuda12x"),
    }
)
PYTHON = "python"

_PYTHON_NAME = re.compile(r"(?:python|pypy)(?P<version>\d(?:\.\d+)?)?")
_DIST_INFO = re.compile(r"(?P<name>.+?)-(?P<version>[^-]+)\.dist-info")
_LIB_PYTHON = re.compile(r"(?:python|pypy)(\d+\.\d+)")
_SHEBANG_BYTES = 1024
PATTERNS = (
    *("XLA_*", "LIBTPU_INIT_ARGS", "JAX_*", "CUDA_*", "NVIDIA_TF32_OVERRIDE", "NCCL_*", "TPU_*", "PJRT_*"),
    *("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "TF_XLA_FLAGS", "TF_GPU_ALLOCATOR"),
    *("TORCH_*", "PYTORCH_*", "TORCHINDUCTOR_*", "TRITON_*"),
    *("OMP_*", "MKL_*", "OPENBLAS_NUM_THREADS", "KMP_*", "GOMP_CPU_AFFINITY"),
    *("PYTHONHASHSEED", "LD_PRELOAD", "MALLOC_*"),
    # They are options of `bench-core compare`.
    "BENCH_*",
)


def software_versions(
    words: CommandWords, cwd: Path, environ: Mapping[str, str], extra: Sequence[str] = ()
) -> dict[str, str]:
    """Versions by package name (`-`, lower case) and of `python`, for what a command runs in `cwd`.

    `extra` names further packages. Empty when no Python is found behind the command.
    """
    python = interpreter_of(words, cwd, environ)
    if python is None:
        return {}
    wanted = PACKAGES | {_normal(name) for name in extra}
    version, folders = _layout(python)
    found = {PYTHON: version} if version else {}
    paths = [cwd / p for p in environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    for folder in [*paths, *folders]:
        for name, its_version in _distributions(folder):
            if name in wanted:
                found.setdefault(name, its_version)
    return found


def interpreter_of(words: CommandWords, cwd: Path, environ: Mapping[str, str]) -> Path | None:
    """The Python that the first command with one runs in; a script's `#!` line tells it as well."""
    if words.uses_uv:
        folder = cwd / environ.get("UV_PROJECT_ENVIRONMENT", ".venv")
        uv_python = folder / "bin/python"
        return uv_python if uv_python.exists() else None
    for simple in words.simple:
        # `taskset -c 1 python bench.py`: of what stands behind the program, the name tells a Python.
        for word in (simple[0], *filter(is_python, simple[1:])):
            path = _which(word, cwd, environ)
            python = None if path is None else _python_behind(path, cwd, environ)
            if python is not None:
                return python
    return None


def is_python(word: str) -> bool:
    """Whether a word is the name of a Python, with or without a folder."""
    return _PYTHON_NAME.fullmatch(posixpath.basename(word)) is not None


def imported_from(words: CommandWords, cwd: Path, environ: Mapping[str, str], *, within: Path) -> list[Path]:
    """The folders below `within` from which the Python behind a command imports packages that were installed as
    editable."""
    python = interpreter_of(words, cwd, environ)
    found: dict[Path, None] = {}
    for folder in _layout(python)[1] if python is not None else ():
        for name in names_in(folder):
            if name.endswith(".pth") or (name.startswith("__editable__") and name.endswith(".py")):
                found.update(dict.fromkeys(_paths_in(folder / name, within)))
    return list(found)


def _paths_in(file: Path, within: Path) -> Iterator[Path]:
    """The folders that a file of `site-packages` adds to the path: as lines, or as the places of packages."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for match in re.finditer(rf"{re.escape(str(within))}(?:/[^'\"\n:]*)?(?=['\"\n]|$)", text):
        path = Path(match[0])
        yield path if file.suffix == ".pth" else path.parent


def _which(program: str, cwd: Path, environ: Mapping[str, str]) -> Path | None:
    if "/" in program:
        candidates = [cwd / program]
    else:
        candidates = [cwd / f / program for f in environ.get("PATH", os.defpath).split(os.pathsep) if f]
    # Not Path.is_file: that fails where a folder of PATH may not be looked into.
    return next((c for c in candidates if os.path.isfile(c) and os.access(c, os.X_OK)), None)  # noqa: PTH113


def _python_behind(path: Path, cwd: Path, environ: Mapping[str, str]) -> Path | None:
    if _PYTHON_NAME.fullmatch(path.name):
        return path
    try:
        with path.open("rb", buffering=0) as file:
            head = file.read(_SHEBANG_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    if not head.startswith("#!"):
        return None
    first, _, rest = head[2:].partition("\n")
    words = first.split()
    # An installer writes `#!/bin/sh` and `'''exec' /long/path/python "$0"` where the path is too long.
    if words and posixpath.basename(words[0]) == "sh" and rest.startswith("'''exec'"):
        words = rest.split()[1:2]
    if words and posixpath.basename(words[0]) == "env":
        words = [w for w in words[1:] if not w.startswith("-") and "=" not in w]
    if not words:
        return None
    program = words[0].strip('"')
    return _which(program, cwd, environ) if is_python(program) else None


def _layout(python: Path) -> tuple[str | None, list[Path]]:
    """Version, and the folders whose packages this Python imports, in that order."""
    # The folder is resolved, the file is not: in a virtual environment it is a link to another Python.
    home = Path(os.path.realpath(python.parent)).parent
    settings = _pyvenv(home) or _pyvenv(python.parent)
    if settings is None:
        return _installed(Path(os.path.realpath(python)))
    folders = list(_site_packages(home))
    version = settings.get("version_info") or settings.get("version")
    if settings.get("include-system-site-packages", "").lower() == "true" and "home" in settings:
        folders += _installed(Path(os.path.realpath(Path(settings["home"]) / python.name)))[1]
    return _short(version), folders


def _installed(python: Path) -> tuple[str | None, list[Path]]:
    prefix = python.parent.parent
    name = _PYTHON_NAME.fullmatch(python.name)
    version = name["version"] if name is not None and "." in (name["version"] or "") else None
    folders = [p for p in _site_packages(prefix) if version is None or f"python{version}" in p.parts]
    if version is None and len({p.parent for p in folders}) > 1:
        return None, []  # several Pythons share this prefix; which one this is cannot be told
    if prefix == Path("/usr"):
        # Debian keeps its own packages here, and those that pip installs under /usr/local.
        folders += _site_packages(Path("/usr/local"), version)
        folders.append(Path("/usr/lib/python3/dist-packages"))
    return version, folders


def _site_packages(prefix: Path, version: str | None = None) -> Iterator[Path]:
    for lib in ("lib", "lib64"):
        if lib == "lib64" and (prefix / lib).is_symlink():
            continue
        for name in names_in(prefix / lib):
            match = _LIB_PYTHON.fullmatch(name)
            if match is not None and version in (None, match[1]):
                for packages in ("site-packages", "dist-packages"):
                    if (prefix / lib / name / packages).is_dir():
                        yield prefix / lib / name / packages


def _pyvenv(folder: Path) -> dict[str, str] | None:
    try:
        text = (folder / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip().lower(): value.strip() for key, equals, value in pairs if equals}


def _short(version: str | None) -> str | None:
    """`3.11.2` of `3.11.2.final.0`."""
    match = re.match(r"\d+\.\d+(?:\.\d+)?", version or "")
    return match[0] if match else None


def _distributions(folder: Path) -> Iterator[tuple[str, str]]:
    for name in names_in(folder):
        if name.endswith(".dist-info"):
            match = _DIST_INFO.fullmatch(name)
            if match is not None:
                yield _normal(match["name"]), match["version"]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def relevant_env(environ: Mapping[str, str], extra: Sequence[str] = ()) -> dict[str, str]:
    """The variables whose names match `PATTERNS` or the glob patterns in `extra`, sorted by name.

    Values are as they stand: whoever writes them down redacts them first.
    """
    whole, starts, globs = _sorted((*PATTERNS, *extra))
    return {
        name: environ[name]
        for name in sorted(environ)
        if name in whole or name.startswith(starts) or any(fnmatch.fnmatchcase(name, one) for one in globs)
    }


@functools.lru_cache
def _sorted(patterns: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...], tuple[str, ...]]:
    """Whole names, beginnings and other patterns: most are a beginning and a star, which is quickly compared."""
    globs = tuple(one for one in patterns if any(sign in one.removesuffix("*") for sign in "*?["))
    plain = [one for one in patterns if one not in globs]
    whole = frozenset(one for one in plain if not one.endswith("*"))
    return whole, tuple(one.removesuffix("*") for one in plain if one not in whole), globs
