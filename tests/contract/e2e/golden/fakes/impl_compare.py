"""Stands in for a comparison on a remote slice: rows as RESULT_JSON, with devices and samples."""

import json
import os
import sys

batch = int(os.environ.get("BENCH_BATCH", "64"))
expert_axis = int(os.environ.get("BENCH_EXPERT_AXIS", "2"))
if batch > 256 and "--xla_vmem_limit_kib=65536" not in os.environ.get("XLA_FLAGS", ""):
    sys.exit("RESOURCE_EXHAUSTED: scoped memory: 19.2M requested, 16.0M allowed")
DEVICE = {"platform": "tpu", "kind": "TPU v5p", "count": 4, "used": 4}
MESHES = {"dp": "data=4", "dp_ep": f"data={4 // expert_axis},expert={expert_axis}"}
for topk in (2, 8):
    for impl, mesh in MESHES.items():
        base = 120_000 * (batch / 64) ** 0.8 / (1 + topk / 4)
        gain = 1.0 if impl == "dp" else (1.35 if batch <= 256 else 0.82) - 0.02 * topk
        samples = [round(base * gain * f, 1) for f in (0.997, 1.0, 1.004)]
        row = {
            "config": {"impl": impl, "topk": topk, "batch": batch, "mesh": mesh},
            "metrics": {"tokens_per_s": {"samples": samples, "unit": "tokens/s", "direction": "max"}},
            "devices": [DEVICE],
            "software": {"python": "3.11.4", "jax": "0.7.1", "libtpu": "0.0.21"},
            "host": "slice-w0",
        }
        print("RESULT_JSON", json.dumps(row), flush=True)
