"""`logbook ab --code`: two versions of the code, each in a checkout of its own, from real repositories."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.contract.e2e.e2e_support import LOGBOOK
from tests.contract.running.executors.conftest import is_gone, wait_for
from tests.seams import Store, groups_in
from tests.stored import at

Git = Callable[..., str]

# The speed stands in a file; the noise follows from the number of the run.
BENCH = """
import os, sys, time
noise = int(os.environ['LOGBOOK_RUN']) * 7 % 10 / 1000
print(f"METRIC step_ms={float(open('speed.txt').read()) * (1 + noise):.6f}", flush=True)
"""
# It sleeps before it prints: nobody reads what it prints once the worker is killed.
SLOW = f"import sys, time\ntime.sleep(0.5 if 'brief' in sys.argv else 60)\n{BENCH}"
COMMAND = ("--", "python3", "bench.py")


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No checkout is left by the end of a test."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    yield
    assert list((tmp_path / "temporary").glob("logbook-checkouts-*")) == []


@pytest.fixture
def ready(cli: Cli, git: Git, folder: Path) -> Cli:
    """`main` takes 100 ms; the branch `faster`, which is checked out, 90; a logbook that is committed with it."""
    (folder / "bench.py").write_text(BENCH)
    (folder / "speed.txt").write_text("100")
    assert cli("start", "speed", "--prefix", "SPEED", "--metric", "step_ms:min:ms").code == 0
    git("add", ".")
    git("commit", "-q", "-m", "The benchmark")
    git("checkout", "-q", "-b", "faster")
    (folder / "speed.txt").write_text("90")
    git("commit", "-q", "-a", "-m", "Ten percent")
    return cli


def state(git: Git, folder: Path) -> list[str]:
    """What must stay as it is: references, index, stash, working trees, and files outside of the logbooks."""
    kept = [git("for-each-ref"), git("ls-files", "-s"), git("stash", "list"), git("worktree", "list")]
    return [*kept, git("status", "--short", "--", ".", ":!logbooks")]


def runs(folder: Path, entry_id: str = "SPEED-000") -> list[dict[str, Any]]:
    paths = sorted(at(folder / "logbooks/speed/runs" / entry_id).glob("*/run.json"))
    return [json.loads(path.read_text()) for path in paths]


@pytest.mark.slow
def test_a_criterion_on_tags_is_met_by_their_commits(ready: Cli, git: Git) -> None:
    asked = "compared: {axis: code, values: [v0, final], settled: true, outcomes: [better]}"
    git("tag", "v0", "main")
    # No command can compare code that is not there yet.
    early = ready("criteria", "--add", "Faster", "--predicate", asked, "--json")
    assert early.data["criteria"][0]["computed"]["reason"].endswith("there is no branch final yet")
    assert "logbook ab --code" not in ready("next").out + ready("status").out
    assert ready("criteria", "--drop", "1", "--reason", "it names a tag").code == 0
    git("tag", "final", "HEAD")
    assert ready("criteria", "--add", "Faster", "--predicate", asked).code == 0
    codes = [git("rev-parse", "--short=9", name) for name in ("v0", "final")]
    made = ready("ab", "--code", *codes, "--setup", "true", "--json", *COMMAND)
    assert made.code == 0, made.err
    [criterion] = ready("criteria", "--json").data["criteria"]
    assert (criterion["computed"]["state"], criterion["computed"]["evidence"]) == ("met", [made.data["id"]])
    # What --like takes of an entry is also how its folders are prepared.
    again = ready("ab", "--new", "--code", *codes, "--like", made.data["id"], "--plan", "--json")
    assert again.code == 0, again.err
    stated = Store(Path.cwd(), "speed").entry(again.data["id"])
    assert stated.comparison.run.setup == "true"


@pytest.mark.slow
def test_two_commits_in_one_entry(ready: Cli, git: Git, folder: Path) -> None:
    before = state(git, folder)
    main, faster = git("rev-parse", "main"), git("rev-parse", "HEAD")
    asked = f"compared: {{axis: code, values: [main, '{faster[:9]}'], settled: true, outcomes: [better]}}"
    assert ready("criteria", "--add", "Faster", "--predicate", asked).code == 0
    answer = ready("ab", "--code", "main", "HEAD", "--json", *COMMAND)
    assert answer.code == 0, answer.err
    assert ready("criteria", "--json").data["criteria"][0]["computed"]["state"] == "met"
    assert answer.err.endswith("to decide on its code: logbook keep SPEED-000\n")
    base, other = f"main@{main[:9]}", f'"Ten percent"@{faster[:9]}'
    assert (answer.data["axis"], answer.data["values"]) == ("code", [base, other])
    [finding] = answer.data["answer"]["findings"]
    assert (finding["outcome"], finding["side"]) == ("better", other)
    assert finding["sentence"].startswith(f'{faster[:9]} "Ten percent" takes ')
    assert "% less time than main (95%: " in finding["sentence"]
    assert {(run["part"]["side"], run["code"]["commit"]) for run in runs(folder)} == {(base, main), (other, faster)}
    assert not any(run["code"]["dirty"] for run in runs(folder))
    view = (folder / "logbooks/speed.md").read_text()
    assert f"- {base}: `{main}` The benchmark" in view
    assert f"- {other}: `{faster}` Ten percent" in view
    assert state(git, folder) == before


@pytest.mark.slow
def test_the_working_tree_with_all_that_git_does_not_ignore(ready: Cli, git: Git, folder: Path) -> None:
    (folder / ".gitignore").write_text("ignored.txt\n")
    (folder / "gone.txt").write_text("gone")
    (folder / "was_file").write_text("a file")
    git("add", ".")
    git("commit", "-q", "-m", "More files")
    (folder / "speed.txt").write_text("80")
    (folder / "bench.py").write_text(BENCH + "\nfrom fresh.module import check; check()\n")
    (folder / "fresh").mkdir()
    (folder / "fresh/module.py").write_text(
        "import os\n"
        "def check():\n"
        "    assert os.access('run.sh', os.X_OK) and open('link').read() == open('staged.txt').read() == 'staged'\n"
        "    assert not any(map(os.path.exists, ('gone.txt', 'ignored' + '.txt')))\n"
        "    assert open('was_file/x').read() == 'x'\n"
    )
    (folder / "run.sh").write_text("true")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("staged.txt")
    (folder / "staged.txt").write_text("staged")
    git("add", "staged.txt")
    (folder / "ignored.txt").write_text("not code")
    (folder / "gone.txt").unlink()
    (folder / "was_file").unlink()
    (folder / "was_file").mkdir()
    (folder / "was_file/x").write_text("x")
    before = state(git, folder)
    answer = ready("ab", "--code", "HEAD", "WORK", "--json", *COMMAND)
    assert answer.code == 0, answer.err
    assert answer.data["values"][1].startswith("WORK+")
    assert answer.data["answer"]["findings"][0]["outcome"] == "better"
    assert state(git, folder) == before
    work = [run["code"] for run in runs(folder) if run["part"]["side"].startswith("WORK")]
    assert len({code["identity"] for code in work}) == 1
    assert all(code["dirty"] and code["commit"] == git("rev-parse", "HEAD") for code in work)
    diff = next((folder / "logbooks/speed/code").rglob("*")).read_text()
    for name in ("speed.txt", "fresh/module.py", "run.sh", "link", "staged.txt", "gone.txt", "was_file/x"):
        assert f"b/{name}\n" in diff
    assert "b/ignored.txt" not in diff
    assert "b/logbooks" not in diff


@pytest.mark.slow
def test_the_same_codes_add_pairs_and_other_code_is_another_entry(ready: Cli, git: Git, folder: Path) -> None:
    """An entry that was committed meanwhile makes no other code."""
    words = ("ab", "--code", "main", "WORK", "--max-pairs", "2", "--json")
    first = ready(*words, *COMMAND).data
    git("add", "logbooks")
    git("commit", "-q", "-m", "An entry")
    second = ready(*words, *COMMAND).data
    assert (second["id"], second["values"]) == ("SPEED-000", first["values"])
    assert second["answer"]["pairs"] == 4
    # One commit has several names; the entry keeps its own.
    for name in (git("rev-parse", "main")[:5], "faster~2"):
        more = ready("ab", "--code", name, "WORK", "--max-pairs", "1", "--json", *COMMAND)
        assert (more.data["id"], more.data["values"]) == ("SPEED-000", first["values"]), more.err
    assert [(f["side"], f["pairs"]) for f in more.data["answer"]["findings"]] == [(first["values"][1], 6)]
    (folder / "speed.txt").write_text("85")
    # --id returns to the code that the entry states.
    on = ready("ab", "--id", "SPEED-000", "--max-pairs", "1", "--json")
    assert (on.data["values"], on.data["answer"]["pairs"]) == (first["values"], 7), on.err
    assert on.data["answer"]["left_out"] == []
    assert {run["code"]["commit"] for run in runs(folder)[-2:]} == {
        git("rev-parse", "main"),
        git("rev-parse", "HEAD~1"),
    }
    last = ready(*words, *COMMAND).data
    # Other code is another idea, and no twin of the first one.
    assert (last["id"], last["answer"]["earlier"], last["answer"]["pairs"]) == ("SPEED-001", [], 2)
    twin = ready(*words[:-1], "--new", "--json", *COMMAND).data
    assert (twin["id"], twin["answer"]["earlier"]) == ("SPEED-002", ["SPEED-001"])
    refused = ready("ab", "--code", "main", "WORK", "--id", "SPEED-001", *COMMAND)
    assert (refused.code, "next:  logbook ab --id SPEED-001" in refused.err) == (2, True)


@pytest.mark.slow
def test_folders_paths_and_a_root_elsewhere(
    ready: Cli, git: Git, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command runs where it was typed; paths into the repository lead into the checkout."""
    (folder / "src/inner").mkdir(parents=True)
    (folder / "src/inner/speed.txt").write_text("70")
    (folder / "src/value.py").write_text("SPEED = 70")
    git("add", ".")
    git("commit", "-q", "-m", "src")
    (folder / "src/value.py").write_text("SPEED = 60")
    monkeypatch.setenv("PYTHONPATH", f"{folder}/src:/nowhere")
    (folder / "use.py").write_text(
        "import os, value; print(f'METRIC step_ms={value.SPEED}.{os.environ[\"LOGBOOK_RUN\"]}')"
    )
    git("add", "use.py")
    git("commit", "-q", "-m", "use")
    root = tmp_path / "elsewhere"
    assert ready("start", "speed", "--metric", "step_ms:min:ms", "--root", str(root)).code == 0
    monkeypatch.chdir(folder / "src")
    words = ("ab", "--root", str(root), "--code", "HEAD", "WORK", "--json")
    answer = ready(*words, "--", "python3", f"{folder}/use.py")
    assert answer.data["answer"]["findings"][0]["change"] < -0.1, answer.err
    inner = ready(*words, "--cwd", "inner", "--max-pairs", "1", "--", "python3", "../../bench.py")
    assert inner.data["answer"]["findings"][0]["base"]["low"] < 71, inner.err


@pytest.mark.slow
@pytest.mark.parametrize("before", [(), ("./pinned",)])
def test_an_editable_install_is_that_of_the_checkout(
    ready: Cli, git: Git, folder: Path, before: tuple[str, ...]
) -> None:
    """And a program that only the user's own tree has is found there, also behind a program that starts it."""
    (folder / "pinned").write_text('#!/bin/sh\nexec "$@"\n')
    (folder / "pinned").chmod(0o755)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", ".venv"], cwd=folder, check=True)
    [packages] = folder.glob(".venv/lib/python*/site-packages")
    (packages / "mine.pth").write_text(f"{folder}/src\n")
    (folder / ".gitignore").write_text(".venv\n")
    (folder / "src").mkdir()
    (folder / "src/value.py").write_text("SPEED = 70")
    (folder / "use.py").write_text(
        "import os, value; print(f'METRIC step_ms={value.SPEED}.{os.environ[\"LOGBOOK_RUN\"]}')"
    )
    git("add", ".")
    git("commit", "-q", "-m", "src")
    (folder / "src/value.py").write_text("SPEED = 60")
    answer = ready("ab", "--code", "HEAD", "WORK", "--json", "--", *before, ".venv/bin/python", "use.py")
    assert answer.code == 0, answer.err
    assert answer.data["answer"]["findings"][0]["change"] < -0.1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--code", "main", "nothing"), "--code: 'nothing'"),
        (("--code", "HEAD", "faster"), "HEAD and faster"),
        (("--code", "HEAD", "WORK"), "HEAD and WORK"),
        (("--code", "main", "HEAD", "--axis", "a=1,2"), "--axis and --code"),
        (("--code", "main", "HEAD", "--cwd", "later"), "folder later"),
    ],
)
def test_what_does_not_fit_is_refused(ready: Cli, git: Git, folder: Path, words: tuple[str, ...], said: str) -> None:
    (folder / "later").mkdir()
    before = state(git, folder)
    answer = ready("ab", *words, *COMMAND)
    assert answer.code == 2
    assert said in answer.err
    assert runs(folder) == []
    assert state(git, folder) == before


def checkouts() -> list[Path]:
    """The folders of checkouts that are there."""
    return [*Path(os.environ["TMPDIR"]).glob("logbook-checkouts-*/*/*/*/bench.py")]


def in_a_checkout(pid: int) -> bool:
    """Whether a process works there by now, not in the folder of who started it."""
    try:
        return Path(f"/proc/{pid}/cwd").resolve().is_relative_to(os.environ["TMPDIR"])
    except OSError:
        return False


def begun(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    """An A/B that is in the middle of its first run."""
    process = subprocess.Popen(
        [*LOGBOOK, "ab", "--code", "main", "WORK", "--seed", "1", "--", "python3", "bench.py", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 30
    while not any(map(in_a_checkout, groups_in(folder))):
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    return process


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_checkouts_go_with_a_request_to_stop(ready: Cli, git: Git, folder: Path, number: int) -> None:
    (folder / "bench.py").write_text(SLOW)
    git("commit", "-q", "-a", "-m", "It sleeps")
    git("branch", "-f", "main")
    (folder / "speed.txt").write_text("80")
    before = state(git, folder)
    process = begun(folder)
    assert git("worktree", "list").count("\n") == 2
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, (out, err)
    assert state(git, folder) == before


@pytest.mark.slow
def test_the_next_command_removes_what_a_killed_one_left(ready: Cli, git: Git, folder: Path) -> None:
    (folder / "bench.py").write_text(SLOW)
    git("commit", "-q", "-a", "-m", "It sleeps")
    git("branch", "-f", "main")
    (folder / "speed.txt").write_text("80")
    before = state(git, folder)
    process = begun(folder)
    process.kill()
    process.communicate(timeout=30)
    [command] = groups_in(folder)
    # While the command still runs in its checkout, that is left to it.
    assert ready("list").code == 0
    assert len(checkouts()) == 2
    os.kill(command, signal.SIGKILL)
    deadline = time.monotonic() + 30
    while Path(f"/proc/{command}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert ready("list").code == 0
    assert checkouts() == []
    assert state(git, folder) == before


@pytest.mark.slow
def test_the_command_that_goes_on_keeps_to_its_commits(ready: Cli, git: Git, folder: Path) -> None:
    made = ready("ab", "--code", "main", "HEAD", "--max-pairs", "1", "--json", *COMMAND)
    again = made.data["stopped"]["why"].partition("to continue: ")[2]
    assert again == "logbook ab --id SPEED-000 --max-pairs 9"
    (folder / "speed.txt").write_text("80")
    git("commit", "-q", "-a", "-m", "HEAD moves on")
    answer = ready("ab", "--json", *again.replace("--max-pairs 9", "--max-pairs 1").split()[2:])
    assert answer.code == 0, answer.err
    assert (answer.data["pairs"], answer.data["values"]) == (2, made.data["values"])
    assert {run["code"]["commit"] for run in runs(folder)} == {git("rev-parse", "main"), git("rev-parse", "HEAD~1")}


@pytest.mark.slow
def test_changes_that_no_commit_holds_are_brought_back_by_id(ready: Cli, git: Git, folder: Path) -> None:
    (folder / "speed.txt").write_text("80")
    (folder / "bench.py").write_text(BENCH.replace("import os", "import os, fresh"))
    (folder / "fresh.py").write_text("")
    made = ready("ab", "--code", "HEAD", "WORK", "--max-pairs", "1", "--json", *COMMAND)
    assert made.code == 0, made.err
    git("checkout", "-q", "--", ".")
    (folder / "fresh.py").unlink()
    before = state(git, folder)
    on = ready("ab", "--id", "SPEED-000", "--max-pairs", "1", "--json")
    assert on.code == 0, on.err
    assert (on.data["pairs"], on.data["answer"]["left_out"], on.data["values"]) == (2, [], made.data["values"])
    assert len({run["code"]["identity"] for run in runs(folder)}) == 2
    assert state(git, folder) == before
    # Without the diff in the logbook it is refused, with what to do instead.
    [kept] = (folder / "logbooks/speed/code").rglob("*.diff")
    kept.unlink()
    lost = ready("ab", "--id", "SPEED-000", "--max-pairs", "1")
    assert (lost.code, "cannot be brought back" in lost.err, "ab --id" in lost.err) == (2, True, False), lost.err


@pytest.mark.slow
def test_a_command_is_taken_from_a_checkout_that_is_gone(ready: Cli, folder: Path) -> None:
    script = str(folder / "bench.py")
    assert ready("ab", "--code", "main", "HEAD", "--pairs", "1", "--", "python3", script).code == 0
    assert runs(folder)[0]["argv"][1] != script
    like = ready("ab", "--axis", "env:N=1,2", "--like", "SPEED-000/1", "--pairs", "1", "--json")
    assert like.code == 0, like.err
    assert {run["argv"][1] for run in runs(folder, like.data["id"])} == {script}


@pytest.mark.slow
def test_data_that_git_ignores_is_named_and_setup_makes_it(ready: Cli, git: Git, folder: Path) -> None:
    (folder / ".gitignore").write_text("data.txt\nnotes.txt\n__pycache__/\n")
    (folder / "make.py").write_text("open('data.txt', 'w').write('1')\n")
    (folder / "bench.py").write_text(f"open('data.txt')\n{BENCH}")
    git("add", ".")
    git("commit", "-q", "-m", "Data in a file")
    for name in ("notes.txt", "data.txt", "__pycache__/x.pyc"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("1")
    (folder / "speed.txt").write_text("80")
    failed = ready("ab", "--code", "HEAD", "WORK", "--max-pairs", "2", "--json", *COMMAND)
    why = failed.data["stopped"]["why"]
    assert failed.code == 1
    assert "git does not hold data.txt, notes.txt" in why, "what the output names comes first"
    line = next(one for one in why.splitlines() if "--setup" in one)
    assert "__pycache__" not in line
    # Who has forgotten the answer is not told to discard it.
    [step] = ready("next", "--json").data["steps"]
    assert step["command"] == "logbook ab --like SPEED-000 --setup 'COMMAND THAT MAKES IT'"
    typed = line[line.index("logbook ab ") :].replace("'COMMAND THAT MAKES IT'", "'python3 make.py'")
    made = ready(*shlex.split(typed)[1:], "--json")
    assert (made.code, made.data["id"]) == (0, "SPEED-001"), made.err
    assert not made.data["answer"]["failed"]
    again = ready(*shlex.split(typed)[1:], "--json")
    assert again.data["id"] == "SPEED-001"


@pytest.mark.slow
def test_no_text_has_the_paths_of_checkouts(ready: Cli, folder: Path) -> None:
    (folder / "speed.txt").write_text("no number")
    words = ("--setup", "test -e bench.py", "--", "python3", str(folder / "bench.py"))
    failed = ready("ab", "--code", "main", "WORK", *words)
    assert failed.code == 1
    view = (folder / "logbooks/speed.md").read_text()
    shown = [ready(*typed.split()).out for typed in ("show SPEED-000", "status", "sync --create --dry-run")]
    for text in (failed.out, view, *shown):
        assert "checkouts-" not in text
        assert "PATH=" not in text
    assert "  - setup: base:\n    - `test -e bench.py`\n" in view
    assert "  - `python3 ./bench.py` (×" in view
    assert 'File "./bench.py", line' in view


@pytest.mark.slow
def test_the_hint_after_a_failure_keeps_what_was_typed(ready: Cli, git: Git, folder: Path) -> None:
    (folder / "speed.txt").write_text("no number")
    words = ("--pairs", "8", "--title", "A first idea")
    failed = ready("ab", "--code", "main", "WORK", *words, "--json", *COMMAND)
    line = failed.data["stopped"]["why"].splitlines()[-1]
    typed = shlex.split(line[line.index("logbook ab ") :])[1:]
    (folder / "speed.txt").write_text("80")
    made = ready(*typed, "--json")
    assert (made.code, made.data["title"], made.data["pairs"]) == (0, "A first idea", 8), made.err
    # The hash that the hint has for main is called main, as stop criteria ask for it.
    assert made.data["values"][0] == f"main@{git('rev-parse', 'main')[:9]}"


@pytest.mark.slow
def test_another_idea_in_the_tree_takes_neither_title_nor_labels_along(ready: Cli, folder: Path) -> None:
    (folder / "speed.txt").write_text("80")
    typed = ("--title", "Skip by length", "--free", "checksum", "--gate", "step_ms < 1000", "--max-pairs", "1")
    assert ready("ab", "--code", "HEAD", "WORK", *typed, *COMMAND).code == 0
    again = ready("ab", "--new", "--like", "SPEED-000", "--plan")
    assert "as in SPEED-000: --gate 'step_ms < 1000' --free checksum" in again.err
    assert Store(folder, topic="speed").entry("SPEED-001").title == "Skip by length"
    (folder / "speed.txt").write_text("85")
    other = ready("ab", "--like", "SPEED-000", "--max-pairs", "1")
    assert "its title, its text and --free are not taken" in other.err
    assert "as in SPEED-000: --gate 'step_ms < 1000'\n" in other.err
    made = Store(folder, topic="speed").entry_path("SPEED-002").read_text()
    assert ("title: 'A/B of code: " in made, "step_ms < 1000" in made, "checksum" in made) == (True, True, False)


@pytest.mark.slow
def test_the_question_of_an_idea_that_was_undone_names_the_patch(ready: Cli, folder: Path) -> None:
    (folder / "speed.txt").write_text("80")
    assert ready("ab", "--code", "HEAD", "WORK", "--max-pairs", "1", "--json", *COMMAND).code == 0
    assert ready("patch", "SPEED-000", "--undo").code == 0
    late = ready("edit", "SPEED-000", "--gate", "step_ms < 1000", "--json").error["hint"]
    typed = shlex.split(late[late.index("logbook ab ") :])[1:]
    hint = ready(*typed, "--json").error["hint"]
    assert hint.endswith("logbook patch SPEED-000 --apply")
    assert ready("patch", "SPEED-000", "--apply").code == 0
    assert ready(*typed, "--pairs", "1", "--json").data["id"] == "SPEED-001"


@pytest.mark.slow
def test_branches_that_moved_on_name_the_earlier_entry(ready: Cli, git: Git, folder: Path) -> None:
    ask = ("ab", "--code", "main", "faster", "--pairs", "1", "--json", *COMMAND)
    assert ready(*ask).data["answer"]["earlier"] == []
    (folder / "speed.txt").write_text("70")
    git("commit", "-q", "-a", "-m", "More")
    assert ready(*ask).data["answer"]["earlier"] == ["SPEED-000"]
    # What was found of two codes is not said of the command on a third.
    (folder / "speed.txt").write_text("200")
    worse = ready("ab", "--code", "HEAD", "WORK", "--pairs", "8", "--json", *COMMAND).data
    assert [f["outcome"] for f in worse["answer"]["findings"]] == ["worse"]
    assert worse["answer"]["earlier"] == []
    (folder / "speed.txt").write_text("60")
    assert "tried before" not in ready("run", *COMMAND).err


@pytest.mark.slow
def test_keeping_code_that_is_worse_warns(ready: Cli, folder: Path) -> None:
    (folder / "speed.txt").write_text("120")
    assert ready("ab", "--code", "HEAD", "WORK", *COMMAND).code == 0
    kept = ready("keep", "SPEED-000", "--why", "simpler")
    [warning] = kept.err.splitlines()
    assert "SPEED-000 is kept, though WORK takes " in warning
    assert "% more time than " in warning
    # It is said of what is kept, not of what is discarded.
    assert not ready("discard", "SPEED-000", "--why", "slower").err


@pytest.mark.slow
def test_what_a_killed_one_left_is_removed_and_nothing_that_another_uses(ready: Cli, git: Git, folder: Path) -> None:
    (folder / "bench.py").write_text(SLOW)
    git("commit", "-q", "-a", "-m", "It sleeps")
    git("branch", "-f", "main")
    (folder / "speed.txt").write_text("80")
    killed = begun(folder)
    child = groups_in(folder)[-1]
    killed.kill()
    killed.communicate()
    os.kill(child, signal.SIGKILL)
    wait_for(lambda: is_gone(child))
    running = begun(folder)
    assert git("worktree", "list").count("\n") == 2
    beside = ready("ab", "--code", "main", "WORK", "--max-pairs", "1", *COMMAND, "brief")
    assert beside.code == 0, beside.err
    assert git("worktree", "list").count("\n") == 2
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=30)
    assert git("worktree", "list").count("\n") == 0
