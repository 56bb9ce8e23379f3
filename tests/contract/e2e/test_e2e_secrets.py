"""Planted secrets: in no byte of any file below the root, in no answer, while the numbers beside them stay."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.seams import Store

# Each is unlike the others, so that a leak names its way out. Put together here: nothing may be found in a scan of
# this file for tokens either.
SECRETS = {
    "leading word": "Zx9-leading-word-q7Lp2",
    "--env": "Zx9-env-option-m4Rt8",
    "environment": "Zx9-around-us-k1Wd5",
    "quoted": "Zx9 'quoted' $secret x",
    "multi-line": "Zx9-first-line-aa\nZx9-second-line-bb",
    "argv flag": "Zx9-argv-flag-b6Yh3",
    "github": "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8",
    "hugging face": "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz01234567",
    "aws": "AKIA" + "Q3EGRI7XJ2L5MT8K",
    "bearer": "Zx9BearerTokenValue0123456789abcdef",
    "url": "Zx9urlpassw0rd",
    "pem": "MIIZx9PemBodyPemBodyPemBodyPemBody0123456789",
}
AROUND = {
    "WANDB_API_KEY": SECRETS["environment"],
    "DB_PASSWORD": SECRETS["quoted"],
    "DEPLOY_SECRET": SECRETS["multi-line"],
}
SCRIPT = """
import json, os, sys
names = ['MY_TOKEN', 'OTHER_API_KEY', 'WANDB_API_KEY', 'DB_PASSWORD', 'DEPLOY_SECRET']
everything = [*sys.argv[1:], *(os.environ[name] for name in names)]
for stream in (sys.stdout, sys.stderr):
    for secret in everything:
        print('before', secret, 'after', file=stream)
        print(json.dumps({'k': secret}), repr(secret), file=stream)
    print(open('planted.txt').read(), file=stream)
    print('x' * 100_000 + everything[0] + 'y' * 100_000, end='', file=stream)
    print(file=stream, flush=True)
token = os.environ['MY_TOKEN']
print(f'RESULT tflops=1.5 note={token} topk=2')
print('RESULT_JSON', json.dumps({'config': {'key': token}, 'labels': {'l': token}, 'host': token,
      'metrics': {'tflops': {'samples': [2.5]}}, 'failed': None}))
with open(os.environ['LOGBOOK_RESULT_FILE'], 'w') as file:
    json.dump({'config': {'c': everything[-2]}, 'labels': {'w': os.environ['WANDB_API_KEY']},
               'metrics': {'tflops': {'samples': [3.5]}}, 'software': {'jax': token}}, file)
sys.exit(f'{token} is not valid')
"""


def planted() -> str:
    return "\n".join(
        [
            f"token = {SECRETS['github']}",
            f"HF: {SECRETS['hugging face']} {SECRETS['aws']}",
            f"Authorization: Bearer {SECRETS['bearer']}",
            f"https://me:{SECRETS['url']}@example.org/x",
            "-----BEGIN PRIVATE KEY-----",
            SECRETS["pem"],
            "-----END PRIVATE KEY-----",
        ]
    )


def leaks(data: bytes) -> list[str]:
    """Names of the secrets, or lines of them, that occur; also as JSON and as shell text would spell them."""
    found = []
    for name, secret in SECRETS.items():
        parts = {secret, *secret.split("\n")}
        spelt = {s for p in parts for s in (p, json.dumps(p)[1:-1], p.replace("'", "'\"'\"'"), repr(p)[1:-1])}
        found += [name for s in spelt if s.encode() in data]
    return found


@pytest.fixture
def secretive(cli: Cli, git: Callable[..., str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    for name, value in AROUND.items():
        monkeypatch.setenv(name, value)
    (folder / "planted.txt").write_text(planted())
    (folder / "leaky.py").write_text(SCRIPT + f"# {SECRETS['environment']}\n")
    (folder / "bench.py").write_text(f"KEY = '{SECRETS['environment']}'\n# {planted()}\n")
    text = " ".join([SECRETS["environment"], SECRETS["github"]])
    command = f"WANDB_API_KEY={SECRETS['environment']} run"
    (folder / "header.yaml").write_text(json.dumps({"command_templates": [{"label": "T", "command": command}]}))
    begun = cli(
        "start", "moe", "--prefix", "MOE", "--metric", "tflops", "--goal", text, "--title", text, "--stop", text,
        "--link", f"{text}=https://me:{SECRETS['url']}@example.org", "--baseline", f"k={text}",
        "--from", "header.yaml",
    )  # fmt: skip
    assert begun.code == 0
    return cli


@pytest.mark.slow
def test_no_secret_reaches_the_root_or_an_answer(secretive: Cli, folder: Path) -> None:
    text = f"{SECRETS['environment']} and {SECRETS['github']} and {SECRETS['multi-line']}"
    ran = secretive(
        "run", "--json", "--title", text, "--hypothesis", text, "--field", f"Notes={planted()}", "--label", text,
        "--config", f"c={SECRETS['github']}", "--env", f"OTHER_API_KEY={SECRETS['--env']}",
        "--", f"MY_TOKEN={SECRETS['leading word']}", "python", "leaky.py", "--api-key", SECRETS["argv flag"],
        f"--password={SECRETS['argv flag']}", SECRETS["hugging face"], f"https://u:{SECRETS['url']}@h/", "planted.txt",
    )  # fmt: skip
    assert ran.code == 1
    untitled = secretive(
        "run", "--", f"MY_TOKEN={SECRETS['leading word']}", "echo", SECRETS["leading word"],
        "--api-key", SECRETS["argv flag"],
    )  # fmt: skip
    assert untitled.code == 0
    command = f"L: sh -c 'echo --token {SECRETS['argv flag']} {text}'"
    assert secretive("note", "--plan", "--title", text, "--command", command).code == 0
    assert secretive("edit", "MOE-000", "--interpretation", text, "--next", planted()).code == 0
    found = {str(p.relative_to(folder)): leaks(p.read_bytes()) for p in (folder / "logbooks").rglob("*") if p.is_file()}
    found |= {p.name: leaks(p.read_bytes()) for p in Store(folder).state_folder.rglob("*") if p.is_file()}
    assert {path: names for path, names in found.items() if names} == {}
    answers = [ran.out]
    for words in (["show", "MOE-000", "--full"], ["list"], ["status"], ["list", "after"], ["table", "MOE-000"]):
        answers += [secretive(*words, "--json").out, secretive(*words).out]
    assert [leaks(a.encode("utf-8", "surrogateescape")) for a in answers] == [[]] * len(answers)
    ids = [p for p in (folder / ".git/logbook-agent").rglob("*") if p.is_file()]
    assert not [p for p in ids if leaks(p.read_bytes())]
    _what_is_no_secret_is_kept(folder)


def _what_is_no_secret_is_kept(folder: Path) -> None:
    run = json.loads((folder / "logbooks/moe/runs/MOE-000/01/run.json").read_text())
    samples = [s for row in run["rows"] for s in row["metrics"]["tflops"]["samples"]]
    assert sorted(samples) == [2.5, 3.5], "the RESULT line says nothing that the JSON row does not: JSON wins"
    log = (folder / "logbooks/moe/runs/MOE-000/01/output.log").read_text()
    assert log.count("x" * 100_000) == 2
    assert "before $WANDB_API_KEY after" in log
    kept = [p.name.partition(".")[2] for p in (folder / "logbooks/moe/code").iterdir()]
    assert {"diff", "py"} <= set(kept)
    assert run["code"]["untracked"][0]["path"] == "leaky.py"
