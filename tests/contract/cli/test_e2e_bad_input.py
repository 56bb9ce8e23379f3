"""Bad input: one message with cause and next step, the right exit code, and nothing written."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Answer, Cli
from tests.contract.e2e.e2e_support import LOGBOOK, picture
from tests.stored import at

# (words, exit code, code of the error, what the message names)
BAD: dict[str, tuple[list[str], int, str, str]] = {
    "metric direction": (["start", "other", "--prefix", "O", "--metric", "t:sideways:TF/s"], 2, "usage", "sideways"),
    "metric name": (["start", "other", "--prefix", "O", "--metric", "my metric:max"], 2, "usage", "my metric"),
    "topic taken": (["start", "moe", "--prefix", "NEW"], 2, "taken", "moe"),
    "prefix taken": (["start", "other", "--prefix", "MOE"], 2, "taken", "MOE"),
    "prefix with spaces": (["start", "other", "--prefix", "MOE I8"], 2, "usage", "MOE I8"),
    "topic is a path": (["start", "../other", "--prefix", "O"], 2, "usage", "../other"),
    "unknown zone": (["start", "other", "--prefix", "O", "--zone", "Mars/Base"], 2, "usage", "Mars/Base"),
    "header file missing": (["start", "--from", "none.yaml"], 2, "usage", "none.yaml"),
    "missing command": (["run"], 2, "usage", "no command"),
    "an empty word": (["run", "--", ""], 2, "usage", "no command"),
    "command not found": (["run", "--", "no-such-program-here"], 127, "command_not_found", "no-such-program-here"),
    "not executable": (["run", "--", "./plain.txt"], 126, "not_executable", "plain.txt"),
    "timeout soon": (["run", "--timeout", "soon", "--", "true"], 2, "usage", "soon"),
    "timeout negative": (["run", "--timeout=-5s", "--", "true"], 2, "usage", "-5s"),
    "repeat zero": (["run", "--repeat", "0", "--", "true"], 2, "usage", "--repeat"),
    "cwd missing": (["run", "--cwd", "nowhere", "--", "true"], 2, "usage", "nowhere"),
    "env without =": (["run", "--env", "A", "--", "true"], 2, "usage", "'A'"),
    "config without =": (["run", "--config", "topk", "--", "true"], 2, "usage", "topk"),
    "config key of two lines": (["run", "--config", "a\nb: c", "--", "true"], 2, "usage", "KEY=VALUE"),
    "unknown launcher": (["run", "--on", "pod", "--", "true"], 2, "usage", "pod"),
    "unknown ID of run": (["run", "--id", "MOE-404", "--", "true"], 2, "not_found", "MOE-404"),
    "ID of another prefix": (["run", "--id", "XYZ-001", "--", "true"], 2, "not_found", "XYZ-001"),
    "unknown ID of show": (["show", "MOE-404"], 2, "not_found", "MOE-404"),
    "unknown relation": (["note", "--title", "x", "--completes", "MOE-404"], 2, "not_found", "MOE-404"),
    "relation to itself": (["edit", "MOE-000", "--supersedes", "MOE-000"], 2, "usage", "MOE-000"),
    "prose with --id": (["run", "--id", "MOE-000", "--title", "x", "--", "true"], 2, "usage", "MOE-000"),
    "no planned command": (["run", "--id", "MOE-000"], 2, "usage", "MOE-000"),
    "edit of nothing": (["edit", "MOE-000"], 2, "usage", "MOE-000"),
    "edit to no state": (["edit", "MOE-000", "--state", "finished"], 2, "usage", "finished"),
    "field without =": (["note", "--title", "x", "--field", "Observation"], 2, "usage", "Observation"),
    "field label forges": (["note", "--title", "x", "--field", "<!-- logbook=x"], 2, "usage", "logbook"),
    "prose file missing": (["note", "--title", "@none.md"], 2, "usage", "none.md"),
    "plan with open quote": (["note", "--plan", "--title", "x", "--command", "echo 'a"], 2, "usage", "--command 1"),
    "kind": (["note", "--title", "x", "--kind", "poem"], 2, "usage", "poem"),
    "state of list": (["list", "--state", "well"], 2, "usage", "well"),
    "unknown command": (["rnu", "--", "true"], 2, "usage", "rnu"),
    "unknown option": (["run", "--fast", "--", "true"], 2, "usage", "--fast"),
    "unknown logbook": (["-L", "nope", "status"], 2, "not_found", "nope"),
}  # fmt: skip


@pytest.fixture
def two_entries(started: Cli, folder: Path) -> Cli:
    (folder / "plain.txt").write_text("text\n")
    (folder / "subfolder").mkdir()
    assert started("note", "--title", "one").code == 0
    assert started("note", "--title", "two").code == 0
    assert started("edit", "MOE-001", "--title", "three").code == 0  # from the first edit on there is a file to lock
    assert started("edit", "MOE-001", "--title", "two").code == 0
    return started


def assert_one_message(answer: Answer, code: int, names: str) -> None:
    assert (answer.code, answer.out) == (code, "")
    lines = answer.err.splitlines()
    assert [line.split()[0] for line in lines] == ["error:", "cause:", "next:"], answer.err
    assert names in lines[0]
    assert "Traceback" not in answer.err


@pytest.mark.slow
def test_bad_input(two_entries: Cli, folder: Path) -> None:
    """One folder for all of them: none may leave anything behind."""
    before = picture(folder)
    for name, (words, code, error, names) in BAD.items():
        assert_one_message(two_entries(*words), code, names)
        at = words.index("--") if "--" in words else len(words)
        as_json = two_entries(*words[:at], "--json", *words[at:])
        assert (as_json.code, as_json.err) == (code, ""), name
        answer = json.loads(as_json.out)
        assert answer["schema"] == "logbook/error/1"
        assert answer["error"]["code"] == error, name
        assert all(answer["error"][part] for part in ("message", "cause", "hint")), name
        assert picture(folder) == before, name


def test_no_logbook(cli: Cli, folder: Path) -> None:
    for words in (["run", "--", "true"], ["status"], ["note", "--title", "x"], ["list"], ["show", "A-001"]):
        answer = cli(*words)
        assert_one_message(answer, 2, "no logbook")
        assert "logbook start TOPIC" in answer.err
    assert picture(folder) == {}


def test_a_demanded_hypothesis(two_entries: Cli, folder: Path) -> None:
    (folder / "logbook.toml").write_text('require = ["hypothesis"]\n')
    before = picture(folder)
    for words in (["run", "--", "true"], ["note", "--plan", "--title", "x"]):
        answer = two_entries(*words)
        assert_one_message(answer, 2, "--hypothesis")
        assert "logbook.toml" in answer.err
    assert picture(folder) == before
    assert two_entries("run", "--hypothesis", "it works", "--", "true").code == 0


SETTINGS = [
    'require = ["hypotheses"]',
    'log_bytes = "many"',
    "require = [",
    "templates = 'none'",
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_bad_settings(two_entries: Cli, folder: Path, settings: str) -> None:
    (folder / "logbook.toml").write_text(settings + "\n")
    before = picture(folder)
    answer = two_entries("run", "--", "true")
    assert answer.code in (2, 3)
    assert_one_message(answer, answer.code, "logbook.toml" if "templates" not in settings else "none")
    assert picture(folder) == before


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("entry.md.j2", "### {{ entry.id }}\n{{ entry.colour }}\n"),
        ("entry.md.j2", "### {{ entry.id }}\n{% for s in entry.sections %}\n"),
        ("entry.md.j2", "### {{ entry.id }}\n{{ ''.__class__.__mro__ }}\n"),
        ("logbook.md.j2", "# {{ logbook.title }}\n{{ logbook.colour }}\n"),
    ],
)
@pytest.mark.sample(1)
@pytest.mark.slow
def test_a_template_that_names_a_missing_field(two_entries: Cli, folder: Path, template: str, text: str) -> None:
    (folder / "templates").mkdir()
    (folder / "templates" / template).write_text(text)
    (folder / "logbook.toml").write_text('templates = "templates"\n')
    before = picture(folder)
    tries = [["start", "new", "--prefix", "NEW"]]
    if template == "entry.md.j2":
        tries = [
            ["run", "--", "true"],
            ["note", "--title", "x"],
            ["note", "--plan", "--title", "x"],
            ["edit", "MOE-000", "--title", "x"],
        ]
    for words in tries:
        answer = two_entries(*words)
        assert_one_message(answer, 3, f"template {template}, line 2")
        assert picture(folder) == before, words


def test_json_holds_nothing_that_a_terminal_obeys(started: Cli, folder: Path) -> None:
    assert started("note", "plain").code == 0
    path = at(folder / "logbooks/moe/entries/MOE-000.yaml")
    path.write_text(path.read_text().replace("plain", '"a\\u009bb\\u202ec\\x1bd"', 1))
    for words in (("show", "MOE-000"), ("list",), ("status",)):
        answer = started(*words, "--json")
        assert not {"\x9b", "\u202e", "\x1b", "\x7f"} & set(answer.out)
    assert started("show", "MOE-000", "--json").data["title"] == "a\x9bb\u202ec\x1bd"


def test_a_log_on_a_terminal_is_text_with_colours(started: Cli, folder: Path) -> None:
    odd = b"\x1b[31mred\x1b[0m \x1b]52;c;eA==\x07 \xc2\x9b2J \xe2\x80\xaeend"
    assert started("run", "--", "true").code == 0
    at(folder / "logbooks/moe/runs/MOE-000/01/output.log").write_bytes(odd + b"\n")
    there, here = pty.openpty()
    with subprocess.Popen([*LOGBOOK, "show", "MOE-000", "--log"], cwd=folder, stdout=here, stderr=here) as shown:
        assert shown.wait(60) == 0
    os.close(here)
    text = os.read(there, 10_000)
    os.close(there)
    assert b"\x1b[31mred\x1b[0m" in text
    assert not any(bad in text for bad in (b"\x1b]", b"\x07", b"\xc2\x9b", b"\xe2\x80\xae"))
    assert subprocess.run([*LOGBOOK, "show", "MOE-000", "--log"], cwd=folder, capture_output=True).stdout == odd + b"\n"


TOGETHER = {
    "--met and --unmet": "criteria --met 1 --unmet 2",
    "--follow and --json": "wait MOE-000 --follow --json",
    "--id and --new": "sweep int8-topk --id MOE-000 --new",
    "--retry-failed and --new": "sweep int8-topk --retry-failed --new",
    "--entry and --number": "baseline --entry MOE-000 --number tflops=1 --reason x",
    "--offline and --dry-run": "sync --offline out --dry-run",
    "--as and --replace": "link o/r#1 --as x --replace",
    "--file and --branch": "publish --file a.html --branch b",
    "--file, --branch and --space": "publish --file a.html --branch b --space o/n",
    "--show, --apply and --undo": "patch MOE-000 --undo --show --apply",
    "--release and TEXT": "note text --release MOE-000",
    "--axis and --code": "ab --axis topk=1,2 --code main WORK -- true",
    "--plan and --id": "ab --axis topk=1,2 --plan --id MOE-000",
    "--plan and --detach": "ab --axis topk=1,2 --plan --detach -- true",
    "--pairs and --max-pairs": "ab --axis topk=1,2 --pairs 2 --max-pairs 3 -- true {axis}",
    "--curves and --where": "export --as csv --curves --where topk=1",
}


def test_options_that_exclude_one_another(two_entries: Cli) -> None:
    for names, words in TOGETHER.items():
        answer = two_entries(*words.split())
        said = answer.error["message"] if "--json" in words else answer.err.splitlines()[0].removeprefix("error: ")
        assert (answer.code, said) == (2, f"{names} cannot be used together"), words
