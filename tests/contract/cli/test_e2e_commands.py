"""Commands come back: copied out of the Markdown and run by a shell, they do what was recorded."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.conftest import Cli
from tests.stored import at

# A program that shows its words and one variable exactly.
SHOW = (
    "python",
    "-c",
    "import os,sys,json; print('RESULT_JSON', json.dumps({'metrics': {'m': {'samples': [1]}}}));"
    "print(json.dumps([sys.argv[1:], os.environ.get('V')]))",
)
LOOP = """\
set -euo pipefail
for s in "1 2" 'a b'; do
  read -r X Y <<<"$s"
  printf 'RESULT x=%s y=%s it=`%s` n=1\\n' "$X" "$Y" "q'\\"$X" || true
done
cat <<'END'
```
- not a bullet
<!-- logbook:end MOE-000 -->
END
echo "métrique ✓ \\$HOME \\\\ \\`date\\` !x" # done"""
AWKWARD = ["it's", 'say "x"', "a\\b", "$HOME", "`date`", "``", "```", "!", "*", "~", "#", "", " ", "a;b|c&d", "<!--"]

COMMANDS: dict[str, list[str]] = {
    "plain": [*SHOW, "--a", "b"],
    "quotes": [*SHOW, *AWKWARD],
    "unicode": [*SHOW, "é ✓ 𝔘", "\u00a0", "\u2028x", "\u200b"],
    "newlines": [*SHOW, "a\nb", "\n", "  indented\n\n  twice\n", "tab\there"],
    "variables": ["V=a b'c\"", *SHOW, "V=not a variable", "-x"],
    "variable with newline": ["V=one\ntwo", *SHOW],
    "loop": ["bash", "-lc", LOOP],
    "reserved word": ["env", "bash", "-c", 'echo RESULT m=1 w="$0"', "if"],
}


def copied(view: Path, entry_id: str) -> list[str]:
    """The commands a reader would copy from an entry's Command section: code blocks and spans."""
    text = view.read_text()
    block = text[text.index(f"<!-- logbook:block {entry_id} ") : text.index(f"\n<!-- logbook:end {entry_id} -->\n")]
    section = block[block.index("- Command") :].partition("\n- Config:")[0]
    found = []
    for token in MarkdownIt("commonmark").parse(section):
        if token.type == "fence":
            found.append(token.content.removesuffix("\n"))
        found += [child.content for child in token.children or [] if child.type == "code_inline"]
    return found


def outcome(command: str, folder: Path) -> list[str]:
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")


def recorded(folder: Path, entry_id: str, run: int = 1) -> list[str]:
    return at(folder / f"logbooks/moe/runs/{entry_id}/{run:02d}/output.log").read_text().split("\n")


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.sample(3)
@pytest.mark.slow
def test_round_trip(started: Cli, folder: Path, name: str) -> None:
    words = COMMANDS[name]
    view = folder / "logbooks/moe.md"
    assert started("run", "--", *words).code == 0
    log = recorded(folder, "MOE-000")
    assert len(log) > 1
    [command] = copied(view, "MOE-000")
    assert outcome(command, folder) == log

    assert started("run", "--id", "MOE-000", "--label", "again", "--repeat", "2", "--", *words).code == 0
    assert recorded(folder, "MOE-000", 3) == log
    assert copied(view, "MOE-000") == [command, command]
    shown = json.loads(started("show", "MOE-000", "--json").out)["data"]["shared"]
    assert outcome(shown["command"], folder) == log


PLANNED = ("quotes", "unicode", "newlines", "variables", "variable with newline", "loop")


@pytest.mark.parametrize("name", PLANNED)
@pytest.mark.sample(2)
@pytest.mark.slow
def test_round_trip_of_a_plan(started: Cli, folder: Path, name: str) -> None:
    words = COMMANDS[name]
    first = next(i for i, w in enumerate(words) if not w.startswith("V="))
    typed = " ".join([*(f"V={shlex.quote(w[2:])}" for w in words[:first]), shlex.join(words[first:])])
    planned = started("note", "--plan", "--title", "later", "--command", f"First one: {typed}", "--command", typed)
    assert planned.code == 0, planned.err
    view = folder / "logbooks/moe.md"
    before = copied(view, "MOE-000")
    assert len(before) == 2
    assert started("run", "--id", "MOE-000").code == 0
    log = recorded(folder, "MOE-000")
    assert log == recorded(folder, "MOE-000", 2)
    assert copied(view, "MOE-000") == before
    assert outcome(before[0], folder) == outcome(before[1], folder) == log


def test_a_stripped_environment_keeps_rows_config_and_devices(started: Cli, folder: Path) -> None:
    row = {
        "config": {"quant_mode": "int8", "topk": 2},
        "metrics": {"tflops": {"samples": [1.5, 1.75, 1.6], "unit": "TF/s", "direction": "max"}},
        "devices": [{"platform": "tpu", "kind": "TPU v5p", "count": 8, "used": 4}],
        "software": {"jax": "0.7.1"},
        "host": "far-away",
    }
    script = f"echo 'RESULT_JSON {json.dumps(row)}'; echo env: ${{LOGBOOK_ENTRY_ID:-none}}"
    assert started("run", "--", "env", "-i", "sh", "-c", script).code == 0
    [run] = json.loads(started("show", "MOE-000", "--json", "--full").out)["data"]["runs"]
    [found] = run["rows"]
    assert found["config"] == row["config"]
    assert found["metrics"]["tflops"]["samples"] == [1.5, 1.75, 1.6]
    assert found["devices"] == row["devices"]
    view = (folder / "logbooks/moe.md").read_text()
    assert "8 × tpu (TPU v5p), 4 used; host far-away" in view
    assert "software: jax 0.7.1" in view
    assert "`quant_mode=int8 topk=2`" in view
    assert "env: none" in at(folder / "logbooks/moe/runs/MOE-000/01/output.log").read_text()
