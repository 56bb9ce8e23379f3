"""`logbook cite` from the command line."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.seams import Store

SOURCE = "It reaches [[MOE-000 tflops]].\n"
FILLED = 'It reaches <abbr title="[[MOE-000 tflops]]">12.500 TF/s</abbr>.\n'


@pytest.mark.slow
def test_a_figure_is_filled_in_and_checked(started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert started("run", "--", "echo", "METRIC tflops=12.5 TF/s").code == 0
    readme = folder / "README.md"
    readme.write_bytes(SOURCE.replace("\n", "\r\n").encode())
    readme.chmod(0o600)
    assert started("cite", "README.md", "--check").code == 1
    answer = started("cite", "README.md")
    assert (answer.code, answer.out) == (0, "README.md: 1 citation filled in\n")
    assert readme.read_bytes() == FILLED.replace("\n", "\r\n").encode()
    assert readme.stat().st_mode & 0o777 == 0o600
    assert started("cite", "README.md").out == "README.md: 1 citation unchanged\n"
    assert started("cite", "README.md", "--check").code == 0
    readme.write_text(FILLED.replace("12.5", "13.5"))
    answer = started("cite", "README.md", "--check")
    assert answer.code == 1
    wrong = "README.md:1: [[MOE-000 tflops]]: the text says 13.500 TF/s, the record 12.500 TF/s"
    assert answer.err.splitlines() == [wrong]
    problems = started("cite", "README.md", "--check", "--json").data[0]["problems"]
    assert problems == [{"line": 1, "citation": "MOE-000 tflops", "problem": wrong.partition("]]: ")[2]}]
    monkeypatch.setattr("sys.stdin", io.StringIO(SOURCE))
    assert started("cite", "-").out == FILLED
    assert started("edit", "MOE-000", "--state", "void", "--reason", "wrong flag").code == 0
    assert started("cite", "README.md", "--check").err.splitlines() == [
        "README.md:1: [[MOE-000 tflops]]: MOE-000 is void"
    ]
    assert started("cite", "nowhere.md").code == 2
    readme.write_text("It is [[MOE-000 int8 vs none tflops]].\n")
    assert "MOE-000 int8 is not an ID: an ID has no spaces; forms: [[ID METRIC]]" in started("cite", "README.md").err
    (folder / "bytes.md").write_bytes(b"\xff")
    assert started("cite", "bytes.md").code == 2


@pytest.fixture
def measured(started: Cli, folder: Path) -> Cli:
    """An A/B that int8 wins, three runs of a case, and two labelled runs; the entry of the runs is the baseline."""
    sides = ("sh", "-c", "case $0 in none) v=100;; *) v=106;; esac; echo RESULT tflops=$v.$((LOGBOOK_RUN % 5))")
    assert (
        started("ab", "--axis", "mode=none,int8", "--seed", "1", "--max-pairs", "10", "--", *sides, "{axis}").code == 0
    )
    for value, more in ((91, ()), (92, ("--id", "MOE-001")), (93, ("--id", "MOE-001"))):
        words = ("--config", "topk=2", "--", "echo", f"RESULT tflops={value} time_us=1234.5")
        assert started("run", *more, *words).code == 0
    for topk, more in ((2, ()), (4, ("--id", "MOE-002"))):
        words = ("--label", f"k {topk}", "--config", f"topk={topk}", "--", "echo", f"RESULT tflops={topk}0")
        assert started("run", *more, *words).code == 0
    words = ("--config", "topk=8", "--env", "XLA_FLAGS=--x", "--", "echo", "RESULT tflops=50")
    assert started("run", *words).code == 0
    assert started("baseline", "--entry", "MOE-001", "--reason", "the start").code == 0
    return started


@pytest.mark.slow
def test_what_the_record_says_of_each_form_and_that_each_altered_digit_is_caught(measured: Cli, folder: Path) -> None:
    cited = {
        "MOE-001 tflops": r"92\.000 TF/s",
        "MOE-001/3 tflops": r"93\.000 TF/s",
        "MOE-002 tflops@topk=2": r"20\.000 TF/s",
        "MOE-002:k 4 tflops": r"40\.000 TF/s",
        "MOE-000 tflops@none": r"10\d\.\d+ TF/s",
        "MOE-000 vs base tflops": r"\+[56](\.\d+)?% \(95%: \+[45]\.\d+ to \+[67](\.\d+)?%\)",
        "MOE-002:k 4 vs MOE-001 tflops": r"-56\.5% \(order not drawn\)",
        "MOE-003 vs MOE-001 tflops": "not comparable",
        "MOE-001/3 vs baseline tflops": r"\+1\.09% \(order not drawn\)",
    }
    note, lines = folder / "note.md", [*cited]
    note.write_text("".join(f"- A 1: ([[{citation}]]).\n" for citation in lines))
    measured("cite", "note.md")
    text = note.read_text()
    figures = [*re.finditer(r"(?<=>)[^<>]+(?=</abbr>)", text)]
    assert [
        citation for citation, found in zip(lines, figures, strict=True) if not re.fullmatch(cited[citation], found[0])
    ] == []
    sound = "".join(line for line in text.splitlines(keepends=True) if "not comparable" not in line)
    note.write_text(sound)
    assert measured("cite", "note.md", "--check").code == 0
    for at in [
        m.start() + f.start() for f in re.finditer(r"(?<=>)[^<>]+(?=</abbr>)", sound) for m in re.finditer(r"\d", f[0])
    ][::3]:
        note.write_text(sound[:at] + str((int(sound[at]) + 1) % 10) + sound[at + 1 :])
        [wrong] = measured("cite", "note.md", "--check", "--json").data[0]["problems"]
        assert wrong["line"] == sound.count("\n", 0, at) + 1
    note.write_text(sound)
    run = Store(folder).run_path("MOE-001", 3)
    run.write_text(run.read_text().replace("93", "94"))
    assert [p["citation"] for p in measured("cite", "note.md", "--check", "--json").data[0]["problems"]] == [
        "MOE-001/3 tflops",
        "MOE-001/3 vs baseline tflops",
    ]


@pytest.mark.slow
def test_the_answer_is_offered_where_two_comparisons_are_cited_against_each_other(measured: Cli) -> None:
    ask = ("ab", "--axis", "mode=a,b", "--gate", "tflops > 0", "--pairs", "2", "--", "sh", "-c", "echo RESULT tflops=9")
    assert measured(*ask, "{axis}").code == 0
    refused = measured("note", "It is [[MOE-000 vs MOE-005 tflops]].", "--json")
    assert refused.error["hint"] == "write [[MOE-000 vs base tflops]]"
    assert "no value names one case of each" in str(refused.error)
    assert measured("note", "It is [[MOE-000 vs base tflops]].").code == 0


@pytest.mark.slow
def test_a_baseline_without_config_and_a_discarded_comparison_are_cited(measured: Cli, folder: Path) -> None:
    base, other = (measured("run", "--json", "--", "echo", f"RESULT tflops={v}").data["id"] for v in (10, 40))
    for value in (30, 20):
        assert measured("run", "--id", base, "--", "echo", f"RESULT tflops={value}").code == 0
    assert measured("baseline", "--entry", f"{base}/2", "--reason", "a start without config").code == 0
    for word in ("keep", "discard"):
        assert measured(word, "MOE-000", "--why", "its output").code == 0
    note = folder / "note.md"
    note.write_text(f"[[{other} vs baseline tflops]] [[MOE-000 vs base tflops]] [[MOE-000 tflops@int8]]\n")
    assert measured("cite", "note.md").code == 0
    change, found, number = re.findall(r"(?<=>)[^<>]+(?=</abbr>)", note.read_text())
    assert change == "+33.3% (order not drawn)"
    assert re.fullmatch(r"\+[56](\.\d+)?% \(95%: [^a-z]* to [^a-z]*%\), discarded", found)
    assert re.fullmatch(r"10\d\.\d+ TF/s, discarded", number)
    assert measured("cite", "note.md", "--check").code == 0


@pytest.mark.slow
def test_a_side_of_a_comparison_of_code_is_cited_against_the_baseline(
    cli: Cli, git: Callable[..., str], folder: Path
) -> None:
    assert cli("start", "t", "--prefix", "T", "--metric", "time_ms:min:ms").code == 0
    (folder / "bench.sh").write_text("echo METRIC time_ms=$(cat speed.sh).$LOGBOOK_RUN\n")
    (folder / "speed.sh").write_text("100")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    assert cli("run", "--", "sh", "bench.sh").code == 0
    assert cli("baseline", "--entry", "T-000", "--reason", "the start").code == 0
    (folder / "speed.sh").write_text("50")
    assert cli("ab", "--code", "HEAD", "WORK", "--pairs", "1", "--", "sh", "bench.sh").code == 0
    note = folder / "docs/note.md"
    note.parent.mkdir()
    note.write_text("[[T-002 vs baseline time_ms]]\n")
    [problem] = cli("cite", "docs/note.md", "--json").data[0]["problems"]
    [case] = re.findall(r"code=WORK\S*?(?=[ ,;)]|$)", problem["problem"])[:1]
    note.write_text(f"[[T-002 vs baseline time_ms@{case}]]\n")
    assert cli("cite", "docs/note.md").code == 0
    assert re.search(r">-\d\d\.\d% \(order not drawn\)<", note.read_text()), note.read_text()


@pytest.mark.slow
def test_a_side_of_code_is_cited_as_the_error_names_it(cli: Cli, git: Callable[..., str], folder: Path) -> None:
    assert cli("start", "t", "--prefix", "T", "--metric", "time_ms:min:ms").code == 0
    (folder / "bench.sh").write_text("echo METRIC time_ms=100.$LOGBOOK_RUN\n")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    git("checkout", "-q", "-b", "idea")
    (folder / "speed.sh").write_text("50")
    git("add", ".")
    git("commit", "-q", "-m", "second")
    assert cli("ab", "--code", "HEAD~1", "idea", "--pairs", "1", "--", "sh", "bench.sh").code == 0
    (folder / "note.md").write_text("[[T-000 time_ms]]\n")
    [problem] = cli("cite", "note.md", "--json").data[0]["problems"]
    for case in set(re.findall(r"code=[^ ,;)]+", problem["problem"])):
        (folder / "note.md").write_text(f"[[T-000 time_ms@{case}]]\n")
        assert cli("cite", "note.md").code == 0, case


def test_a_change_between_commands_names_the_flags_in_which_they_differ(started: Cli, folder: Path) -> None:
    for tflops, flags in (("100", ()), ("110", ("--fast",)), ("120", ("--fast", "--block", "256"))):
        words = ("sh", "-c", f"echo METRIC tflops={tflops}", "bench", *flags)
        assert started("run", "--", *words).code == 0
    (folder / "text.md").write_text("[[MOE-001 vs MOE-000 tflops]]\n[[MOE-002 vs MOE-000 tflops]]\n")
    problems = started("cite", "text.md", "--check", "--json").data[0]["problems"]
    assert [one["problem"] for one in problems] == [
        "not filled in; the record says +10% (order not drawn)",
        "the sides differ in --block, --fast",
        "not filled in; the record says not comparable",
    ]
