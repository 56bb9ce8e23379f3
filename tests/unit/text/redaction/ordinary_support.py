"""Ordinary lines of benchmarks, from a seed: what must pass unchanged."""

# ruff: noqa: SIM905

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Callable
from random import Random

PLAIN_WORDS = """
router expert kernel matmul shard shape hidden topk quant int8 bf16 loss step batch of the to with at
""".split()
Line = Callable[[Random], str]
WORDS = """
token tokens router expert capacity dispatch combine kernel matmul shard secret-free password-less key keys
pass forward backward auth author bearer-of cookie-cutter login machine shape hidden mlp_dim topk quant int8
bf16 loss step batch
""".split()


def _hex(r: Random, n: int) -> str:
    return f"{r.getrandbits(4 * n):0{n}x}"


def _number(r: Random) -> str:
    return f"{r.uniform(0, 1000):.{r.randint(1, 6)}f}"


def _words(r: Random, n: int) -> str:
    """Some words, of which one in sixteen is one that secrets are called by."""
    return " ".join(r.choice(WORDS if r.random() < 1 / 16 else PLAIN_WORDS) for _ in range(n))


def _path(r: Random) -> str:
    return (
        "/"
        + "/".join(r.choices(["home", "me", "src", "moe", "tokens", "keys", "layers", "auth", "lib", "x-1.2"], k=5))
        + ".py"
    )


def _time(r: Random) -> str:
    return f"2026-{r.randint(1, 12):02}-{r.randint(1, 28):02}T{r.randint(0, 23):02}:{r.randint(0, 59):02}:{r.randint(0, 59):02}.{r.randint(0, 999):03}Z"


def _ip(r: Random) -> str:
    return ".".join(str(r.randint(0, 255)) for _ in range(4)) + f":{r.randint(1024, 65535)}"


def _b64(r: Random, n: int) -> str:
    return base64.b64encode(r.randbytes(n)).decode()


def _config(r: Random) -> dict[str, object]:
    return {
        "tokens": r.choice([4096, 32768]),
        "num_tokens_per_expert": r.randint(1, 512),
        "eos_token": "</s>",
        "bos_token": "<s>",
        "pad_token_id": r.randint(0, 32000),
        "unk_token": "<unk>",
        "mask_token": "[MASK]",
        "tokenizer_class": "LlamaTokenizerFast",
        "tokenizer": f"gpt{r.randint(2, 4)}",
        "max_tokens": 4096,
        "token_dtype": "bfloat16",
        "cache_key": _hex(r, 16),
        "use_auth_token": False,
        "hidden_act": "silu",
        "rope_theta": 10000.0,
        "tie_word_embeddings": True,
        "bench_pass": r.choice(["forward", "forward_backward"]),
        "key_dim": 128,
        "num_key_value_heads": 8,
    }


def _yaml(r: Random) -> str:
    key, value = r.choice(list(_config(r).items()))
    return f"{'  ' * r.randint(0, 3)}{key}: {json.dumps(value) if r.random() < 0.5 else value}"


def _toml(r: Random) -> str:
    key, value = r.choice(list(_config(r).items()))
    return f"{key} = {json.dumps(value)}"


PACKAGES = """
jax jaxlib numpy tokenizers secretstorage pyjwt python-jose google-auth msal keyring passlib huggingface-hub
wandb xai-sdk
""".split()
HLO = (
    "  %fusion.{n} = bf16[{a},{b}]{{1,0:T(8,128)(2,1)}} fusion(bf16[{a},{b}]{{1,0}} %param_{n}.{a}), kind=kLoop, calls=%fused_computation.{n}",
    '  ROOT %custom-call.{n} = f32[{a}]{{0}} custom-call(f32[{a}]{{0}} %p), custom_call_target="tpu_custom_call", backend_config={{"key": {n}}}',
    '  %all-to-all.{n} = (bf16[{a},{b}]) all-to-all(%x), channel_id={n}, replica_groups={{{{0,1,2,3}}}}, metadata={{op_name="jit(moe)/jit(main)/dispatch_tokens"}}',
)
PROSE = (
    "token: what the router sees, {w}",
    "Hypothesis: the token dispatch is {n}x faster; tokens/s: {n}",
    "secret sauce: {w}; the key idea = overlap {w}",
    "password hashing is {n}x faster with {w}, auth adds {n} ms",
    "the secret: fuse the {w}; api keys are rotated by {w}",
    "key = hidden // topk, value = {w}, login shell of {w}",
    "Interpretation: per-token cost {n} us, next token loss {n}, credential check {n} ms",
    "auth: {n} ms, token: {n} us, passes: {n}, pass = forward",
    "no token found for github.com; the session token is refreshed every {n} s by {w}",
    "the cookie is {n} bytes; bearer tokens expire after {n} s; basic auth is off",
)
COMMANDS = (
    "RAY_AUTH_MODE=token uv run scripts/ray/dev_tpu.py --tpu-name dev-{n} execute -e XLA_FLAGS=--xla_dump -- python bench.py --tokens {n}",
    "python -m lib.moe.bench_moe_hillclimb --tokens 32768 --hidden 2048 --mlp-dim 7168 --experts 8 --topk {n} --bench-pass forward_backward",
    "git push origin main && uv pip install -e . --extra-index-url https://host/simple",
    "curl -sS -o out.json https://example.org/api/v1/runs?limit={n}&page={n}",
    "docker run --rm --user 1000:1000 -e HF_TOKEN img:{n} python x.py --token-file t --max-tokens {n}",
    "ssh -i ~/.ssh/id_ed25519 me@host 'cd /work && ls'",
    "gcloud auth print-access-token | docker login -u oauth2accesstoken --password-stdin https://eu.gcr.io",
    "huggingface-cli login --token $HF_TOKEN && wandb login --relogin && export HF_TOKEN=$(cat t)",
)
KINDS: dict[str, Line] = {
    "RESULT": lambda r: f"RESULT tokens={r.randint(1, 99999)} hidden=2048 topk=2 routing=random flops_per_token={r.getrandbits(36)} time_ms={_number(r)} tflops={_number(r)} token_per_s={_number(r)}",
    "METRIC": lambda r: f"METRIC {r.choice(['tokens_per_s', 'time_per_token_us', 'password_hashes_per_s', 'auth_latency_ms', 'key_lookups'])}={_number(r)} s",
    "RESULT_JSON": lambda r: "RESULT_JSON " + json.dumps({"config": _config(r), "metrics": {"tflops": {"samples": [r.random() for _ in range(5)]}}}),
    "commit": lambda r: f"commit {_hex(r, 40)} (HEAD -> {r.choice(['main', 'token-drop', 'secret/x'])})",
    "git log": lambda r: f"{_hex(r, 8)} {_words(r, 6)}",
    "git diff": lambda r: f"index {_hex(r, 10)}..{_hex(r, 10)} 100644",
    "sha256": lambda r: f"sha256:{_hex(r, 64)}  {_path(r)}",
    "md5": lambda r: f"{_hex(r, 32)}  {_path(r)}",
    "SHA512": lambda r: _hex(r, 128).upper(),
    "uuid": lambda r: f"run_id={uuid.UUID(int=r.getrandbits(128))} id: {_hex(r, 24)}",
    "image": lambda r: f"docker.io/library/moe@sha256:{_hex(r, 64)} ghcr.io/acme/moe:v1.{r.randint(0, 99)}-{_hex(r, 7)}",
    "path": lambda r: f"reading {_path(r)} -> {_path(r)}:{r.randint(1, 999)}",
    "base64 of a plot": lambda r: f'<img src="data:image/png;base64,iVBORw0KGgo{_b64(r, 900)}">',
    "base64 line": lambda r: _b64(r, 57),
    "pip freeze": lambda r: f"{r.choice(PACKAGES)}=={r.randint(0, 9)}.{r.randint(0, 99)}.{r.randint(0, 9)} --hash=sha256:{_hex(r, 64)}",
    "traceback": lambda r: f'  File "{_path(r)}", line {r.randint(1, 999)}, in {r.choice(["auth_header", "next_token", "get_secret", "key_for"])}',
    "raised": lambda r: f"{r.choice(['KeyError', 'ValueError', 'TokenError', 'jax.errors.KeyReuseError'])}: {r.choice(['tokens', 'key', 'hidden'])!r} {_words(r, 3)}",
    "HLO": lambda r: r.choice(HLO).format(n=r.randint(1, 9999), a=r.randint(1, 4096), b=r.randint(1, 4096)),
    "nvidia-smi": lambda r: f"| {r.randint(0, 7)}  NVIDIA H200  On | 00000000:{_hex(r, 2).upper()}:00.0 Off | {r.randint(0, 100)}% {r.randint(20, 80)}C P0 {r.randint(50, 700)}W / 700W |",
    "GPU UUID": lambda r: f"GPU {r.randint(0, 7)}: NVIDIA H200 (UUID: GPU-{uuid.UUID(int=r.getrandbits(128))})",
    "XLA": lambda r: f"{_time(r)}: W external/xla/xla/service/gpu/autotuner.cc:{r.randint(1, 999)}] key {_hex(r, 16)} not in cache; token {r.randint(0, 99)}",
    "tqdm": lambda r: f"train:  {r.randint(0, 99)}%|####      | {r.randint(1, 999)}/1000 [00:{r.randint(10, 59)}<01:12, {_number(r)}it/s, loss={_number(r)}, tok/s={_number(r)}]",
    "YAML": _yaml,
    "TOML": _toml,
    "JSON": lambda r: json.dumps(_config(r)),
    "CSV": lambda r: ",".join([str(r.randint(0, 9)), "int8", _hex(r, 40), *(_number(r) for _ in range(6))]),
    "log": lambda r: f"{_time(r)} INFO [{_ip(r)}] {_words(r, 8)}",
    "address": lambda r: f"(raylet pid={r.randint(1, 99999)}, ip={_ip(r)}) listening on tcp://{_ip(r)} http://{_ip(r)}/metrics",
    "wandb": lambda r: f"wandb: Run {_hex(r, 8)} synced to https://wandb.ai/acme/moe/runs/{_hex(r, 8)} ({r.randint(1, 99)} media files)",
    "hub": lambda r: f"Downloading shards: https://huggingface.co/acme/moe/resolve/{_hex(r, 40)}/model-{r.randint(1, 9):05}-of-00009.safetensors",
    "eval": lambda r: f"token {r.randint(0, 32000)} -> {r.choice(['the', 'Ġkey', '▁pass', '##ed', 'Secret'])!r} logprob={-r.random():.4f} top_token={r.randint(0, 9)}",
    "prose": lambda r: r.choice(PROSE).format(n=_number(r), w=_words(r, 2)),
    "command": lambda r: r.choice(COMMANDS).format(n=r.randint(1, 99)),
    "epoch": lambda r: f"{r.randint(1600000000, 1900000000)}:{r.choice(['expert_parallel_dispatch_combine_bwd', 'all_to_all'])} {r.getrandbits(60)}",
    "memory": lambda r: f"0x{_hex(r, 12)}-0x{_hex(r, 12)} r-xp {_hex(r, 8)} fd:{r.randint(0, 99):02} {r.getrandbits(24)} {_path(r)}",
    "weights": lambda r: f"model.layers.{r.randint(0, 61)}.self_attn.{r.choice(['k', 'q', 'v'])}_proj.weight torch.bfloat16 [{r.randint(1, 9999)}, 7168] key_norm=True",
    "python": lambda r: r.choice(["token = tokenizer.next()", "key = jax.random.PRNGKey(0)", "key, subkey = jax.random.split(key)", "keys = jax.random.split(rng_key, 8)", "pass_ = forward(params, tokens)", "auth = requests.auth.HTTPBasicAuth(user, password)", "assert secret is None", "token = os.environ['X']"]),
}  # fmt: skip


def lines(kind: str, count: int) -> list[str]:
    random = Random(kind)
    return [KINDS[kind](random) for _ in range(count)]
