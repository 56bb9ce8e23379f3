"""The stores of MLflow, W&B and Trackio, read back by these libraries: the same numbers, to the last bit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tests.contract.exports.full_store import NASTY, ROWS
from tests.contract.libraries.conftest import Exporting, Reading, in_namespace
from tests.seams import Store

MLFLOW = """
import json, os, sys
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
from pathlib import Path
from urllib.parse import urlparse
from mlflow import MlflowClient
client = MlflowClient(tracking_uri=f"sqlite:///{sys.argv[1]}/mlflow.db")
[experiment] = [e for e in client.search_experiments() if e.name == "moe"]
found = {}
for run in client.search_runs([experiment.experiment_id]):
    history = {k: client.get_metric_history(run.info.run_id, k) for k in run.data.metrics}
    row = Path(urlparse(run.info.artifact_uri).path) / "row.json"
    found[run.info.run_name] = {
        "samples": {k: [m.value for m in sorted(h, key=lambda m: m.step)] for k, h in history.items()},
        "config": run.data.params, "facts": run.data.tags, "row": json.loads(row.read_text()),
        "status": run.info.status,
    }
print(json.dumps(found))
"""
WANDB = """
import json, sys
from pathlib import Path
from wandb.proto import wandb_internal_pb2
def messages(path):
    # The library has no reader of its own any more. Its files are blocks of 32 KiB with pieces of messages, each behind
    # a checksum (4 bytes), its length (2) and whether it is whole, first, middle or last (1); at the start are 7 bytes.
    data, at, whole = path.read_bytes(), 7, b""
    assert data[:4] == b":W&B"
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        size, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        whole += data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):
            yield whole
            whole = b""
found = {}
for path in Path(sys.argv[1]).glob("offline-run-*/run-*.wandb"):
    name, config, samples, host = None, {}, {}, None
    for data in messages(path):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        kind = record.WhichOneof("record_type")
        if kind == "run":
            name, host = record.run.display_name or name, record.run.host or host
            config |= {i.key: json.loads(i.value_json) for i in record.run.config.update}
        if kind == "history":
            for i in record.history.item:
                key = i.key or ".".join(i.nested_key)
                if not key.startswith("_"):
                    samples.setdefault(key, []).append(json.loads(i.value_json))
    row = config.pop("row")
    config.pop("_wandb", None)
    found[name] = {"samples": samples, "config": config, "row": row, "facts": row, "host": host}
print(json.dumps(found))
"""
TRACKIO = """
import json, os, sys
os.environ["TRACKIO_DIR"] = sys.argv[1]
from trackio.sqlite_storage import SQLiteStorage
found = {}
for name in SQLiteStorage.get_runs("moe"):
    samples = {}
    [record] = [r for r in SQLiteStorage.get_run_records("moe") if r["name"] == name]
    for step in SQLiteStorage.get_logs("moe", name, run_id=record["id"]):
        for key, value in step.items():
            if key not in ("step", "timestamp"):
                samples.setdefault(key, []).append(value)
    config = SQLiteStorage.get_run_config("moe", name, run_id=record["id"])
    row = config.pop("row")
    config = {key: value for key, value in config.items() if not key.startswith("_")}
    found[name] = {"samples": samples, "config": config, "row": row, "facts": row}
print(json.dumps(found))
"""
# `time` is a name that Trackio keeps for itself.
NAMES = {"time": "m_time"}


WHY_NOT = {
    "MOE-001/1": "superseded by MOE-002",
    "MOE-003/1": "void",
    "MOE-004/1": "warm-up",
    "MOE-005/1": "failed: oom",
}


def check(found: dict[str, Any], place: Path) -> None:
    """Against the records. (JSON keeps every float as it is: both sides write the shortest text that means it.)"""
    book = Store(place)
    assert len(found) == ROWS
    for name, said in found.items():
        entry_id, _, rest = name.partition("/")
        number, _, at = rest.partition("#")
        row = book.run(entry_id, int(number)).rows[int(at or 1) - 1]
        for metric, m in (row.metrics or {}).items():
            assert said["samples"][NAMES.get(metric, metric)] == m.samples, (name, metric)
            assert said["row"][f"samples.{metric}"] == m.samples
        for key, value in (row.config or {}).items():
            assert said["row"][f"config.{key}"] in (value, str(value))
        assert said["row"].get("why_not") == WHY_NOT.get(name)
    first = found["MOE-000/1#1"]
    assert first["samples"]["tflops.median"] == [1e-300]
    assert first["samples"]["share"] == [1 / 3]


def check_facts(said: dict[str, Any], place: Path, prefix: str = "") -> None:
    run = Store(place).run("MOE-000", 1)
    facts = {key: said["facts"][f"{prefix}{key}"] for key in ("entry", "counts", "commit", "host")}
    assert {**facts, "counts": str(facts["counts"]).lower()} == {
        "entry": "MOE-000",
        "counts": "true",
        "commit": run.code.commit,
        "host": run.host.name,
    }
    assert said["facts"][f"{prefix}command"].startswith("printf ")


def test_mlflow(export: Exporting, read: Reading, place: Path) -> None:
    found = read(MLFLOW, export("mlflow"))
    check(found, place)
    first = found["MOE-000/1#1"]
    assert first["config"] == {"tile": "512", "mode": NASTY, "fused": "true", "rate": "0.1"}
    check_facts(first, place, "logbook.")
    assert {run["status"] for name, run in found.items() if name != "MOE-005/1"} == {"FINISHED"}
    assert found["MOE-005/1"]["status"] == "FAILED"


def test_wandb_offline(export: Exporting, read: Reading, place: Path) -> None:
    folder = export("wandb-offline")
    found = read(WANDB, folder)
    check(found, place)
    first = found["MOE-000/1#1"]
    assert first["config"] == {"tile": 512, "mode": NASTY, "fused": True, "rate": 0.1}
    check_facts(first, place)
    assert {run["host"] for run in found.values()} == {os.uname().nodename}
    # Neither keys nor paths of whoever exported.
    data = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"e" * 40 not in data
    assert str(place).encode() not in data


def test_trackio(export: Exporting, read: Reading, place: Path) -> None:
    found = read(TRACKIO, export("trackio"))
    check(found, place)
    first = found["MOE-000/1#1"]
    assert first["config"] == {"tile": 512, "mode": NASTY, "fused": True, "rate": 0.1}
    check_facts(first, place)


def test_attempts_are_counted(place: Path) -> None:
    """What the other tests rely on."""
    script = "import socket; s = socket.socket(); s.settimeout(1); s.connect_ex(('192.0.2.9', 80))"
    _, _, err = in_namespace("python3", "-c", script, cwd=place)
    assert int(err.split()[-1]) > 0
