"""A stand-in for `bench-core hillclimb`, run as a program: the time of a call and its work on v5p devices."""

from __future__ import annotations

import json
import sys
from typing import Any

# Seconds of a call, and the FLOPs and bytes of each device, at 459 TF/s and 2,765 GB/s.
TIME_S, FLOPS, MOVED = 0.0084, 1.2e12, 5.2e9


def flags(words: list[str]) -> dict[str, Any]:
    pairs = zip(words[1::2], words[2::2], strict=True)
    return {name[2:].replace("-", "_"): int(value) if value.isdigit() else value for name, value in pairs}


def main(words: list[str]) -> int:
    config = flags(words)
    samples = [TIME_S * (1 + 0.001 * n) for n in range(3)]
    row = {
        "config": config,
        "metrics": {"time_s": {"samples": samples, "unit": "s"}, "tflops": {"samples": [1 / s for s in samples]}},
        "observations": {
            "flops": FLOPS * config["devices"],
            "model_bytes_per_device": MOVED,
            "roofline_mxu_s": FLOPS / 459e12,
            "roofline_hbm_s": MOVED / 2765e9,
        },
        "devices": [{"platform": "tpu", "kind": "TPU v5", "count": 4, "used": config["devices"]}],
        "software": {"libtpu": "0.0.42.1"},
    }
    print("RESULT_JSON " + json.dumps(row))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
