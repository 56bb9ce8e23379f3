"""A config is kept as it was written, and two cases stay two; a secret in one leaves a digest."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.seams import Store
from tests.stored import at

MD5, OTHER = "0cc175b9c0f1b6a831c399e269772661", "92eb5ffee6ae2fec3ad71c777531578f"
SHA1, SHA256 = "3f2a9c01d4e5b6a7988f7e6d5c4b3a2910ffee00", MD5 + OTHER
UUID, ULID = "550e8400-e29b-41d4-a716-446655440000", "01ARZ3NDEKTSV4RRFFQ69G5FAV"
# By what an engineer puts into a config: files and runs called by a digest, code, digests, models, addresses, kernels.
KEPT = {
    "files": f"key_{MD5} runs/key_{MD5}/ckpt key-{MD5} s3://b/key_{MD5}.pt token-{MD5} live_{MD5} re_{ULID} api_{MD5}"
    f" patch-{SHA1} pattern-{MD5} job-{UUID} run_7fK2mQ9xLp4vT8wZ1nB6cD3sR5yU0aEg rnd_{MD5} HMAC{MD5} app:v1.0-{SHA1}",
    "code": "llvm::APFloatSemantics std::unordered_map<std::string,int> APPLE_M1_MAX_64GB AP1000 at::native::APContext"
    " _ZN4llvm13APFloatSemanticsE",
    "digests": f"{MD5} {SHA1} {SHA256} {UUID} {ULID} sha256:{SHA256} ghcr.io/o/i@sha256:{SHA256} GPU-{UUID}"
    " sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    "models": "meta-llama/Llama-3-8B Qwen/Qwen2.5-72B-Instruct-AWQ clip_vit_b32_laion2b_s34b_b79k ddp_8gpu_zero2_bf16x"
    " clip_vit_l14_336px_openai gemma_3n_e2b_it_8bit_gguf jina_embeddings_v3_8k_lora graphs_1m_nodes_10m_edges"
    " sk-resnet50-imagenet-21k-v2 xai-grok-4-0709-fast hf_model_v2_large_8bit",
    "addresses": f"s3://b/a?versionId=3HL4kqtJlcpXroDTDmJ+rmSpXd3dIbrHY hf://datasets/a/b@{SHA1} https://h:8080/x?n=1"
    " git+ssh://git@h/o/r tcp://127.0.0.1:29500 gs://b/o#1700000000123456 root@10.0.0.1:/data model:tag@v2",
    "kernels": "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNT Cijk_Ailk_Bljk_BBS_BH_MT128x96x64_SN_1LDSB0_APM1_ABV0"
    " sm90_xmma_gemm_bf16bf16_bf16f32_tn_n_tilesize128x128x64 BM128BN256BK64W8S3 2x4/pp:2@node",
}
# Names that only sound like those of secrets.
NAMED = {
    "token_mixer": "attention-v2-causal-01",
    "token_map": "meta-llama/Llama-3-8B",
    "token_cache": "s3://b/v1/tokens-00001.bin",
    "tokens_md5": MD5,
    "token_dispatcher": f"alltoall-{SHA1}",
    "token_budget": 2048,
    "max_tokens": 4096,
    "tokenizer": "bert",
    "sort_key": "name",
    "password_length": 12,
    "opencl_key": SHA256,
    "cache_key": MD5,
    "auth_mode": "none",
}
LABELS = {"checksum": f"key_{MD5}", "digest": f"sha256:{SHA256}", "sha256": SHA256, "commit": SHA1, "crc": "APFloat32x"}


def pairs(values: dict[str, Any]) -> list[str]:
    return [f"{name}={value}" for name, value in values.items()]


def options(values: dict[str, Any]) -> list[str]:
    return [word for pair in pairs(values) for word in ("--config", pair)]


def record(folder: Path, entry: str = "MOE-000") -> dict[str, Any]:
    [path] = at(folder / f"logbooks/moe/runs/{entry}").glob("*/run.json")
    read: dict[str, Any] = json.loads(path.read_text())
    return read


def flagged(values: dict[str, Any]) -> list[str]:
    return [word for name, value in values.items() for word in (f"--{name.replace('_', '-')}", str(value))]


GROUPS = {
    **{group: {f"c{n}": word for n, word in enumerate(text.split())} for group, text in KEPT.items()},
    "names": NAMED,
}


@pytest.mark.parametrize("group", GROUPS)
def test_kept_as_it_was_written(started: Cli, folder: Path, group: str) -> None:
    values = GROUPS[group]
    printed = f"RESULT {' '.join(pairs(values))} tflops=1"
    words = ["sh", "-c", f"echo {shlex.quote(printed)}", "b", *flagged(values), *pairs(values)]
    assert started("run", *options(values), "--", *words).code == 0
    run = record(folder)
    assert run["argv"] == words
    assert run["config"] == values
    assert [row["config"] for row in run["rows"]] == [values]
    [path] = at(folder / "logbooks/moe/runs/MOE-000").glob("*/output.log")
    assert path.read_text() == printed + "\n"
    view = (folder / "logbooks/moe.md").read_text()
    assert "redacted" not in view + started("show", "MOE-000", "--json").out
    assert [pair for pair in pairs(values) if pair not in view] == []


def test_labels_are_kept(started: Cli, folder: Path) -> None:
    assert started("run", "--", "echo", f"RESULT {' '.join(pairs(LABELS))} tflops=1").code == 0
    [row] = record(folder)["rows"]
    assert row["labels"] == LABELS


@pytest.mark.parametrize("name", ["ckpt", "CKPT", "key"])
def test_two_checkpoints_stay_two_cases(started: Cli, folder: Path, name: str) -> None:
    values = [f"key_{MD5}", f"key_{OTHER}"]
    for value in values:
        words = ["sh", "-c", "echo RESULT tflops=1", f"--{name}", value, f"{name}={value}"]
        assert started("run", "--config", f"{name}={value}", "--", *words).code == 0
    assert cases(started, name, folder) == values


def cases(cli: Cli, name: str, folder: Path) -> list[str]:
    """The values of a config in the records, which a table shows as so many rows."""
    found = [run.rows[0].config[name] for entry in ("MOE-000", "MOE-001") for run in Store(folder).runs(entry)]
    table = cli("table", "MOE-000", "MOE-001", "--csv").out
    assert [value for value in found if value not in table] == []
    return found


def test_two_checkpoints_are_two_sides(started: Cli, folder: Path) -> None:
    sides = [f"runs/key_{MD5}/ckpt", f"runs/key_{OTHER}/ckpt"]
    answer = started("ab", "--axis", f"env:CKPT={','.join(sides)}", "--max-pairs", "8", "--", "echo", "RESULT tflops=1")
    assert answer.code in (0, 1), answer.err
    found = started("show", "MOE-000", "--json").data["comparison"]["question"]
    assert [found["base"], *found["sides"]] == sides
    assert {run.part.side for run in Store(folder).runs("MOE-000")} == set(sides)


def test_a_common_word_is_kept_though_it_is_a_password(
    started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "postgres")
    monkeypatch.setenv("TOKEN_MIXER", "attention-v2-causal-01")
    monkeypatch.setenv("CKPT", f"key_{MD5}")
    values = {"backend": "postgres", "mixer": "attention-v2-causal-01", "ckpt": f"key_{MD5}"}
    words = ["echo", "RESULT tflops=1", "--token", "postgres", "--backend", "postgres", f"CKPT=key_{MD5}"]
    assert started("run", *options(values), "--", *words).code == 0
    run = record(folder)
    assert run["config"] == values
    assert run["argv"] == ["echo", "RESULT tflops=1", "--token", "[redacted:token]", *words[4:]]


def test_what_follows_a_reference_to_a_secret_is_kept(started: Cli, folder: Path) -> None:
    words = ["sh", "-c", "echo RESULT tflops=1.25 model=x; : $HF_TOKEN step=100k"]
    assert started("run", "--", *words).code == 0
    assert record(folder)["argv"] == words


# -- secrets ----------------------------------------------------------------------------------------------


PREFIX = "gh" + "p_"
SECRETS = {
    "by its name": ("api_key", ["hunter-71-one", "hunter-71-two"]),
    "a number by its name": ("db_password", ["71717171", "72727272"]),
    "by its prefix": (
        "hub",
        [PREFIX + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8", PREFIX + "B1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"],
    ),
    "in an address": ("source", ["postgres://me:hunter-81@db/x", "postgres://me:hunter-82@db/x"]),
}


def nothing_leaked(folder: Path, cli: Cli, secrets: Sequence[str]) -> None:
    texts = [path.read_text(errors="replace") for path in (folder / "logbooks").rglob("*") if path.is_file()]
    texts += [cli(*words).out for words in (["status"], ["show", "MOE-000"], ["table"], ["list", "--json"])]
    parts = [part for secret in secrets for part in (secret, secret.partition("me:")[2].partition("@")[0]) if part]
    assert [part for part in parts if any(part in text for text in texts)] == []


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("way", ["option", "printed", "JSON"])
def test_secrets_in_two_configs_are_two_cases(started: Cli, folder: Path, kind: str, way: str) -> None:
    name, values = SECRETS[kind]
    for value in (*values, values[0]):
        row = json.dumps({"config": {name: value}, "metrics": {"tflops": 1}})
        printed = {
            "option": "RESULT tflops=1",
            "printed": f"RESULT {name}={value} tflops=1",
            "JSON": f"RESULT_JSON {row}",
        }
        (folder / "out.txt").write_text(printed[way] + "\n")
        more = [] if way == "JSON" else ["--config", f"{name}={value}"]
        assert started("run", *more, "--", "cat", "out.txt").code == 0
    first, second, again = (record(folder, f"MOE-00{n}")["rows"][0]["config"][name] for n in range(3))
    assert first == again != second
    assert "redacted:" in first
    nothing_leaked(folder, started, values)


def test_secrets_as_sides_are_two(started: Cli, folder: Path) -> None:
    values = ["hunter-71-one", "hunter-71-two"]
    command = ["sh", "-c", "echo RESULT tflops=1", "b", "{api_key}"]
    axis = f"api_key={','.join(values)}"
    assert started("ab", "--axis", axis, "--max-pairs", "8", "--", *command).code in (0, 1)
    question = started("show", "MOE-000", "--json").data["comparison"]["question"]
    sides = [question["base"], *question["sides"]]
    assert len(set(sides)) == 2
    assert {run.part.side for run in Store(folder).runs("MOE-000")} == set(sides)
    nothing_leaked(folder, started, values)


def test_a_sweep_has_the_rows_that_it_planned(started: Cli, folder: Path) -> None:
    values = ["hunter-71-one", "hunter-71-two"]
    recipe = {
        "name": "r",
        "question": "q",
        "command": ["sh", "-c", "echo RESULT tflops=1", "b", "{api_key}", "{ckpt}"],
        "axes": {"api_key": values, "ckpt": [f"key_{MD5}", f"key_{OTHER}"]},
    }
    (folder / "r.yaml").write_text(json.dumps(recipe))
    answer = started("sweep", "r.yaml", "--set", "confirm=0")
    assert answer.code == 0, answer
    assert "problem" not in answer.out
    configs = {tuple(sorted(run.rows[0].config.items())) for run in Store(folder).runs("MOE-000")}
    assert len(configs) == 4
    nothing_leaked(folder, started, values)
