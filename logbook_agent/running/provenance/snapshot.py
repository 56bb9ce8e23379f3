"""Everything recorded about where and with what a run happens, taken just before it starts."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from logbook_agent.model.run import Code, Contention, Device, Host
from logbook_agent.running.provenance.git import code_facts
from logbook_agent.running.provenance.machine import host_facts, other_users, visible_devices
from logbook_agent.running.provenance.software import software_versions


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Facts of one moment. `diff` and `untracked` hold what is to be kept beside the record, unredacted."""

    code: Code | None
    diff: bytes | None = None
    untracked: dict[str, bytes] = field(default_factory=dict)
    host: Host
    devices: tuple[Device, ...] = ()
    software: dict[str, str] = field(default_factory=dict)
    relevant_env: dict[str, str] = field(default_factory=dict)
    contention: Contention | None = None
    problems: tuple[str, ...] = ()


def snapshot(
    *,
    cwd: Path,
    root: Path,
    argv: Sequence[str],
    environ: Mapping[str, str],
    env_patterns: Sequence[str] = (),
    packages: Sequence[str] = (),
    remote: bool = False,
) -> Provenance:
    """Facts about `argv` as started in `cwd`. With `remote` a launcher carries the command elsewhere, so
    this host's devices, packages and variables say nothing about it and are left unknown."""
    code = code_facts(cwd, root, argv, environ=environ)
    contention = None if remote else other_users()
    held = [] if contention is None else [f"contended: {who} held an accelerator" for who in contention.accelerator]
    return Provenance(
        code=code.code,
        diff=code.diff,
        untracked=code.untracked,
        host=host_facts(),
        devices=() if remote else visible_devices(environ),
        software={} if remote else software_versions(argv, cwd, environ, packages),
        relevant_env={} if remote else relevant_env(environ, env_patterns),
        contention=contention,
        problems=(*code.problems, *held),
    )


PATTERNS = (
    *("XLA_*", "LIBTPU_INIT_ARGS", "JAX_*", "CUDA_*", "NVIDIA_TF32_OVERRIDE", "NCCL_*", "TPU_*", "PJRT_*"),
    *("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "TF_XLA_FLAGS", "TF_GPU_ALLOCATOR"),
    *("TORCH_*", "PYTORCH_*", "TORCHINDUCTOR_*", "TRITON_*"),
    *("OMP_*", "MKL_*", "OPENBLAS_NUM_THREADS", "KMP_*", "GOMP_CPU_AFFINITY"),
    *("PYTHONHASHSEED", "LD_PRELOAD", "MALLOC_*"),
)


def relevant_env(environ: Mapping[str, str], extra: Sequence[str] = ()) -> dict[str, str]:
    """The variables whose names match `PATTERNS` or the glob patterns in `extra`, sorted by name.

    Values are as they stand: whoever writes them down redacts them first.
    """
    matching = re.compile("|".join(fnmatch.translate(p) for p in (*PATTERNS, *extra)))
    return {name: environ[name] for name in sorted(environ) if matching.match(name)}
