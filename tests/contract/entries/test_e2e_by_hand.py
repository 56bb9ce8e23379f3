"""Entries that somebody writes in an editor, in YAML as people write it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.conftest import Cli

OPENED = "opened: 2026-02-10T10:43:00+00:00\n"


def written(folder: Path, text: str) -> Path:
    entry = folder / "logbooks/moe/entries/MOE-000.yaml"
    entry.parent.mkdir(exist_ok=True)
    entry.write_text(text)
    return entry


def test_a_title_and_a_time_are_an_entry(started: Cli, folder: Path) -> None:
    written(folder, f"title: by hand\n{OPENED}")
    assert started("list").out == "MOE-000  2026-02-10 10:43  noted  by hand\n"
    assert "by hand" in started("show", "moe-0").out
    assert "entries: 1 (1 noted)" in started("status").out
    assert started("render").code == 0
    assert "### 2026-02-10 10:43 - MOE-000 by hand" in (folder / "logbooks/moe.md").read_text()
    assert started("edit", "MOE-000", "--next", "measure it").code == 0
    assert "2026-02-10 10:43" in started("list").out


@pytest.mark.parametrize(
    ("time", "shown"),
    [
        ("2026-02-10", "2026-02-10 00:00"),
        ("2026-02-10 10:43", "2026-02-10 10:43"),
        ("2026-02-10T10:43:00Z", "2026-02-10 10:43"),
        ("2026-02-10 12:43:00+02:00", "2026-02-10 10:43"),
    ],
)
def test_times_without_quotes(started: Cli, folder: Path, time: str, shown: str) -> None:
    written(folder, f"title: x\nopened: {time}\n")
    assert started("list").out.split("  ")[1] == shown


@pytest.mark.parametrize("opened", ["", "opened:\n", "opened: ''\n"])
def test_an_entry_without_a_time_says_what_to_write(started: Cli, folder: Path, opened: str) -> None:
    written(folder, f"title: x\n{opened}")
    answer = started("show", "MOE-000")
    assert answer.code == 3
    assert "MOE-000.yaml: opened: missing: write when it began, such as 2026-02-10T10:43:00+00:00" in answer.err


WORDS = ["bench", "2", "1e-3", "1.50", "no", "12:30", "1_000", "true", "08", "0x1F", "-1", "2026-02-09"]


def test_words_of_a_command_are_those_that_stand_there(started: Cli, folder: Path) -> None:
    entry = written(folder, f"title: x\n{OPENED}state: planned\ncommands:\n  argv: [{', '.join(WORDS)}]\n")
    assert f"`{' '.join(WORDS)}`" in started("show", "MOE-000").out
    assert started("edit", "MOE-000", "--next", "go").code == 0
    assert yaml.safe_load(entry.read_text())["commands"] == [{"argv": WORDS}]


def test_texts_that_look_like_something_else(started: Cli, folder: Path) -> None:
    written(
        folder,
        f"title: 1.50\n{OPENED}noise: no\ngates: ok == 1\nfree: checksum\nplots: pairs\nconfidence:\nreviewed: 1.50\n",
    )
    entry = json.loads(started("show", "MOE-000", "--json", "--full").out)["data"]
    assert entry["title"] == "1.50"
    assert started("edit", "MOE-000", "--free", "other").code == 0
    kept = yaml.safe_load((folder / "logbooks/moe/entries/MOE-000.yaml").read_text())
    assert kept["gates"] == ["ok == 1"]
    assert kept["free"] == ["checksum", "other"]
    assert kept["plots"] == ["pairs"]
    assert kept["reviewed"] == 1.5


FIELDS = {
    "a mapping": "fields:\n  Hypothesis: faster\n  Seen: {text}\n",
    "a list of mappings": "fields:\n- Hypothesis: faster\n- Seen: {text}\n",
    "one mapping in a list": "fields:\n- Hypothesis: faster\n  Seen: {text}\n",
    "labels and texts": "fields:\n- label: Hypothesis\n  text: faster\n- {{label: Seen, text: {text}}}\n",
    "mixed": "fields:\n- label: Hypothesis\n  text: faster\n- Seen: {text}\n",
}
TEXTS = {
    "3.50": "3.50",
    "no": "no",
    "12:30": "12:30",
    "true": "true",
    "[a, 1e-3, 2]": "- a\n- 1e-3\n- 2",
    "[speed: 3x]": "- speed: 3x",
    "{topk: 2, lr: 1.50}": "topk: 2, lr: 1.50",
}


@pytest.mark.parametrize("form", FIELDS)
def test_fields_in_their_natural_forms(started: Cli, folder: Path, form: str) -> None:
    for text, means in TEXTS.items():
        written(folder, f"title: x\n{OPENED}{FIELDS[form].format(text=text)}")
        fields = started("show", "MOE-000", "--json").data["fields"]
        assert [(f["label"], f["text"]) for f in fields] == [("Hypothesis", "faster"), ("Seen", means)]
    assert started("render").code == 0
    assert "- Seen: topk: 2, lr: 1.50" in (folder / "logbooks/moe.md").read_text()


def test_a_list_with_paragraphs(started: Cli, folder: Path) -> None:
    entry = written(folder, f"title: x\n{OPENED}fields:\n  Seen:\n  - |\n    one\n\n    two\n  - three\n  Result:\n")
    assert started("edit", "MOE-000", "--next", "go").code == 0
    fields = yaml.safe_load(entry.read_text())["fields"]
    assert fields[0]["text"] == "- one\n  \n  two\n- three"
    assert (fields[1]["label"], fields[1]["text"]) == ("Result", "")


def test_relations_as_people_type_them(started: Cli, folder: Path) -> None:
    written(folder, f"title: first\n{OPENED}")
    (folder / "logbooks/moe/entries/MOE-001.yaml").write_text(f"title: second\n{OPENED}continues: moe-0\n")
    answer = started("show", "MOE-001")
    assert (answer.code, answer.err) == (0, "")
    assert "- Continues: MOE-000" in answer.out


@pytest.mark.parametrize("text", ["fields:\n  Seen: a\n  Seen: b\n", "title: y\n"])
def test_a_key_that_stands_twice_is_an_error_with_its_line(started: Cli, folder: Path, text: str) -> None:
    written(folder, f"title: x\n{OPENED}{text}")
    answer = started("show", "MOE-000")
    assert answer.code == 3
    assert "stands twice: remove one, or join them" in answer.err
    assert f"line {2 + len(text.splitlines())}, column" in answer.err


HEADER = """\
topic: thread
prefix: THR
title: 42
goal: 1.50
metrics: tflops:max
constraints: one
gates: ok == 1
links: {Paper: https://example.org/p}
stop_criteria: It is known.
matrix: {axis: k, values: [2, 1e-3, no, 1.50]}
command_templates: 'Base: bench --k 2'
summary:
"""


def test_a_header_file_of_single_texts(cli: Cli, folder: Path) -> None:
    (folder / "thread.yaml").write_text(HEADER)
    answer = cli("start", "--from", "thread.yaml")
    assert (answer.code, answer.err) == (0, "")
    header = folder / "logbooks/thread/logbook.yaml"
    kept = yaml.safe_load(header.read_text())
    assert (kept["title"], kept["goal"], kept["constraints"], kept["gates"]) == ("42", "1.50", ["one"], ["ok == 1"])
    assert kept["matrix"] == [{"axis": "k", "values": ["2", "1e-3", "no", "1.50"]}]
    # The same in the logbook itself.
    header.write_text(f"{header.read_text()}free: checksum\nplots: pairs\nsummary:\n")
    assert cli("note", "--title", "x").code == 0
    assert cli("edit", "--goal", "", "--reason", "a test").code == 0
    kept = yaml.safe_load(header.read_text())
    assert (kept["free"], kept["plots"]) == (["checksum"], ["pairs"])


PROSE = {
    "trailing blanks": "two blanks  \nmake a break\nend",
    "tabs": "a\tb\n\tindented by a tab\nend",
    "a tab first": "\tfirst\nthen",
    "blanks first": "  first\nthen \t \n\nend",
    "line ends of Windows": "one\r\ntwo\r\n\r\nthree",
}


@pytest.mark.parametrize("name", PROSE)
def test_prose_stays_a_block_that_people_can_read(started: Cli, folder: Path, name: str) -> None:
    prose = PROSE[name]
    written(folder, f"title: x\n{OPENED}")
    assert started("edit", "MOE-000", "--field", f"Seen={prose}", "--hypothesis", prose).code == 0
    text = (folder / "logbooks/moe/entries/MOE-000.yaml").read_text()
    lines = prose.replace("\r\n", "\n").split("\n")
    assert all(f"\n    {line}\n" in text for line in lines if line)
    assert text.count("text: |") == 2
    assert {f["text"] for f in yaml.safe_load(text)["fields"]} == {"\n".join(lines)}
    assert {f["text"] for f in started("show", "MOE-000", "--json").data["fields"]} == {"\n".join(lines)}


def test_the_tool_keeps_the_modes_of_files(started: Cli, folder: Path) -> None:
    """A run file is replaced when its run ends."""
    command = "chmod 600 logbooks/moe/runs/*/*/run.json; echo RESULT tflops=1"
    assert started("run", "--", "sh", "-c", command).code == 0
    root = folder / "logbooks"
    (entry,) = root.glob("moe/entries/*.yaml")
    (run,) = root.glob("moe/runs/*/*/run.json")
    assert run.stat().st_mode & 0o777 == 0o600
    assert json.loads(run.read_text())["rows"]
    files = [entry, root / "moe/logbook.yaml", root / "moe.md"]
    for mode in (0o600, 0o640, 0o664):
        before = {file: file.read_bytes() for file in files}
        for file in files:
            file.chmod(mode)
        assert started("edit", "MOE-000", "--next", f"mode {mode:o}").code == 0
        assert started("edit", "--goal", f"mode {mode:o}", "--reason", "a test").code == 0
        assert [oct(file.stat().st_mode & 0o777) for file in files] == [oct(mode)] * len(files)
        assert not [file.name for file in files if file.read_bytes() == before[file]]


def test_what_git_ignores_is_for_the_user_to_say(started: Cli, folder: Path) -> None:
    """Lines that somebody took out stay out, and what somebody wrote behind ours is not overruled."""
    ignore, attributes = folder / "logbooks/.gitignore", folder / "logbooks/.gitattributes"
    ignore.write_text(ignore.read_text().replace("/*/runs/*/*/output.log\n", "") + "!/*/backups/\n")
    attributes.write_text(attributes.read_text().replace("*.diff -text\n", "") + "*.md merge=ours\n")
    ours = ignore.read_text(), attributes.read_text()
    assert started("run", "--", "sh", "-c", "echo 1 >a.txt; echo ARTIFACT a.txt; echo RESULT tflops=1").code == 0
    assert started("render").code == 0
    assert (ignore.read_text(), attributes.read_text()) == ours
    assert started("start", "other", "--prefix", "OTH").code == 0
    assert ignore.read_text() == ours[0]
    assert attributes.read_text() == ours[1].replace(
        "/moe.md merge=union\n", "/moe.md merge=union\n/other.md merge=union\n"
    )
    git = shutil.which("git")
    assert git is not None
    subprocess.run([git, "init", "-q"], cwd=folder, check=True)
    asked = [git, "check-attr", "merge", "logbooks/other.md"]
    told = subprocess.run(asked, cwd=folder, check=True, capture_output=True, text=True).stdout
    assert told == "logbooks/other.md: merge: ours\n"
