"""Which environment variables matter to a result."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence

PATTERNS = (
    "XLA_*",
    "LIBTPU_INIT_ARGS",
    "JAX_*",
    "CUDA_*",
    "NVIDIA_TF32_OVERRIDE",
    "NCCL_*",
    "TPU_*",
    "PJRT_*",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "TF_XLA_FLAGS",
    "TF_GPU_ALLOCATOR",
    "TORCH_*",
    "PYTORCH_*",
    "TORCHINDUCTOR_*",
    "TRITON_*",
    "OMP_*",
    "MKL_*",
    "OPENBLAS_NUM_THREADS",
    "KMP_*",
    "GOMP_CPU_AFFINITY",
    "PYTHONHASHSEED",
    "LD_PRELOAD",
    "MALLOC_*",
)


def relevant_env(environ: Mapping[str, str], extra: Sequence[str] = ()) -> dict[str, str]:
    """The variables whose names match `PATTERNS` or the glob patterns in `extra`, sorted by name.

    Values are as they stand: whoever writes them down redacts them first.
    """
    matching = re.compile("|".join(fnmatch.translate(p) for p in (*PATTERNS, *extra)))
    return {name: environ[name] for name in sorted(environ) if matching.match(name)}
