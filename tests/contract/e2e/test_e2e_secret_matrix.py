"""Every kind of secret at every place where text comes in: none is written, said or sent.

Excepted are bare words of high entropy that no name and no shape tells apart from a digest; there is none among the
kinds.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.e2e.secret_matrix_support import EVERY, FEW, Matrix, long, offline, read_all, sizes
from tests.contract.text.redaction.kinds_support import FORMS, Maker
from tests.stored import at


@pytest.fixture(params=sizes(FEW))
def matrix(request: pytest.FixtureRequest) -> Matrix:
    return Matrix(kinds=request.param)


@long
@pytest.mark.slow
def test_texts_of_an_entry_and_a_header(cli: Cli, folder: Path, matrix: Matrix) -> None:
    header = {
        "baseline": {"confidence": "exploratory", "code_refs": [matrix.one("baseline code_refs").replace("\n", " ")]},
        "command_templates": [f"T{n}: run {shlex.quote(text)}" for n, text in enumerate(matrix.plant("templates"))],
    }
    stated = folder.parent / "header.yaml"
    stated.write_text(json.dumps(header), encoding="utf-8")
    started = cli(
        "start", "moe", "--prefix", "MOE", "--from", str(stated), "--metric", "tflops", "--goal", matrix.one("--goal"),
        "--title", matrix.one("start --title").replace("\n", " "), "--constraint", matrix.one("--constraint"),
        "--stop", matrix.one("--stop"), "--baseline-source", matrix.one("--baseline-source"),
        *(f"--baseline={name}={value}" for name, value in matrix.values("--baseline").items()),
        *(f"--baseline=k{n}={text}" for n, text in enumerate(matrix.plant("--baseline k"))),
        *(f"--matrix={name}={value},2" for name, value in matrix.values("--matrix").items()),
        *(f"--matrix=a{n}={text}" for n, text in enumerate(matrix.plant("--matrix a", matrix.words))),
        *(f"--link=L{n}={text}" for n, text in enumerate(matrix.plant("--link", matrix.words))),
        *(f"--link={text}=https://a.example/{n}" for n, text in enumerate(matrix.plant("--link label", matrix.words))),
    )  # fmt: skip
    assert matrix.hear("start", started).code == 0, started
    for words in (
        (
            "note",
            "--plan",
        ),
        ("note",),
        ("note", "--kind", "decision"),
    ):
        name = " ".join(words)
        texts = [f"{option}={matrix.one(name + option)}" for option in ("--hypothesis", "--interpretation", "--next")]
        texts += [f"--title={matrix.one(f'{name} --title')}", f"--field=Notes={matrix.one(f'{name} --field')}"]
        texts += [f"--field={key}={value}" for key, value in matrix.values(f"{name} --field").items()]
        assert matrix.hear(name, cli(*words, "--json", *texts)).code == 0
    texts = [
        f"--{key}={matrix.one(f'edit {key}')}" for key in ("result", "interpretation", "next", "title", "hypothesis")
    ]
    assert matrix.hear("edit", cli("edit", "MOE-000", *texts, "--append")).code == 0
    more = [f"--command=L{n}: echo {shlex.quote(text)}" for n, text in enumerate(matrix.plant("plan --command"))]
    more += [f"--command=P{n}: x -e {k} {v}" for n, (k, v) in enumerate(matrix.values("plan -e").items())]
    assert matrix.hear("plan", cli("note", "--plan", "--title", "t", *more)).code == 0
    scripts = [f"echo {shlex.quote(text)} | cat" for text in matrix.plant("plan sh -c")]
    more = [f"--command=L{n}: sh -c {shlex.quote(script)}" for n, script in enumerate(scripts)]
    assert matrix.hear("plan sh -c", cli("note", "--plan", "--title", "t", *more)).code == 0
    assert matrix.hear("criteria", cli("criteria", "--add", matrix.one("criteria --add"))).code == 0
    for word in matrix.plant("list", matrix.words[:5]):
        matrix.hear("list", cli("list", word))
        matrix.hear("list", cli("list", word, "--json"))
    read_all(cli, matrix, "MOE-000", "MOE-001", "MOE-002", "MOE-003", "MOE-004")
    offline(cli, matrix, folder)
    matrix.nothing_leaked(folder)
    assert at(folder / "logbooks/moe/entries/MOE-001.yaml").read_text().count("keep") >= 5 * (len(matrix.kinds) - 2)


@pytest.mark.slow
@long
def test_words_of_a_command(started: Cli, folder: Path, matrix: Matrix, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = matrix.values("flag").items()
    flags = [word for k, v in pairs for word in (f"--{k}", v)]
    flags += [f"--{k}={v}" for k, v in matrix.values("flag=").items()]
    for flag in ("-e", "-E", "--env-var", "--set", "--env"):
        flags += [word for k, v in matrix.values(flag).items() for word in (flag, k, v)]
        flags += [word for k, v in matrix.values(f"{flag} =").items() for word in (flag, f"{k}={v}")]
    leading = [f"{k}={v}" for k, v in matrix.values("leading").items() if k.isupper()]
    words = [*matrix.plant("word"), *(f"--data={text}" for text in matrix.plant("--data=")), *flags]
    split = [word for text in matrix.plant("split by a shell") for word in text.split()]
    assert matrix.hear("run", started("run", "--json", "--", *leading, "true", *words)).code == 0
    assert matrix.hear("run", started("run", "--", "true", *split, "keep999")).code == 0
    script = "\n".join(f": {shlex.quote(text)}" for text in matrix.plant("--shell"))
    script += "".join(f"\n{k.replace('-', '_')}={v} true" for k, v in matrix.values("--shell").items())
    assert matrix.hear("run", started("run", "--shell", "--", script)).code == 0
    assert matrix.hear("run", started("run", "--", "sh", "-c", script.replace("leading", "sh"))).code == 0
    code = "\n".join(f"x = {text!r}" for text in matrix.plant("python -c"))
    code += "".join(f"\n{k.replace('-', '_')} = {v!r}" for k, v in matrix.values("python -c").items())
    assert matrix.hear("run", started("run", "--", "python3", "-c", code)).code == 0
    (folder / "logbook.toml").write_text('env = ["BENCH_*"]\n')
    for n, text in enumerate(matrix.plant("environment")):
        monkeypatch.setenv(f"BENCH_{n}", text)
    env = [f"--env=X{n}={text}" for n, text in enumerate(matrix.plant("--env"))]
    env += [f"--env={k.replace('-', '_')}={v}" for k, v in matrix.values("--env").items()]
    config = [f"--config=c{n}={text}" for n, text in enumerate(matrix.plant("--config"))]
    config += [f"--config={k}={v}" for k, v in matrix.values("--config").items()]
    config += [f"--config={text}={n}" for n, text in enumerate(matrix.plant("--config name", matrix.words))]
    label = matrix.one("--label").replace("\n", " ")
    assert matrix.hear("run", started("run", *env, *config, "--label", label, "--", "true")).code == 0
    read_all(started, matrix, "MOE-000", "MOE-005")
    offline(started, matrix, folder)
    matrix.nothing_leaked(folder)
    assert "keep999" in at(folder / "logbooks/moe/runs/MOE-001/01/run.json").read_text()


OUTPUT = """
import json, os, sys
given = json.load(open(sys.argv[1]))
for stream, place in ((sys.stdout, "stdout"), (sys.stderr, "stderr")):
    for text in given[place]:
        print("keep", text, "kept", file=stream)
        print(json.dumps({"k": text}), repr(text), file=stream)
print(*given["RESULT"], *given["METRIC"], *given["broken"], sep="\\n")
print("RESULT_JSON", json.dumps(given["RESULT_JSON"]))
print("RESULT_JSON", json.dumps(given["broken json"]))
print("RESULT_JSON {", *given["cut json"])
json.dump(given["file"], open(os.environ["LOGBOOK_RESULT_FILE"], "w"))
print("last", file=sys.stderr, flush=True)
"""


def _reported(matrix: Matrix) -> dict[str, object]:
    """What the command prints."""
    words = matrix.words
    rows = [f"RESULT a{n}={shlex.quote(text)} tflops=1" for n, text in enumerate(matrix.plant("RESULT"))]
    rows += [f"RESULT {k}={v} tflops=1" for k, v in matrix.values("RESULT").items()]
    rows += [f"RESULT {text}={n} tflops=1" for n, text in enumerate(matrix.plant("RESULT name", words))]
    metrics = [f"METRIC m{n}={text}" for n, text in enumerate(matrix.plant("METRIC", words))]
    metrics += [f"METRIC {text}=1.5 s" for text in matrix.plant("METRIC name", words)]
    metrics += [f"METRIC {k}={v}" for k, v in matrix.values("METRIC").items()]
    broken = [f"RESULT b={text} 'unclosed tflops=" for text in matrix.plant("broken RESULT")]
    broken += [f"RESULT {k}={v} 'unclosed" for k, v in matrix.values("broken RESULT").items()]
    broken += [f"RESULT tflops={text}" for text in matrix.plant("RESULT number", words)]
    return {
        "stdout": matrix.plant("stdout"),
        "stderr": matrix.plant("stderr"),
        "RESULT": rows,
        "METRIC": metrics,
        "broken": broken,
        "cut json": [*(f'"{k}": "{v}"' for k, v in matrix.values("cut json").items()), *matrix.plant("cut json")],
        "RESULT_JSON": _row(matrix, "RESULT_JSON"),
        "broken json": {"config": matrix.values("broken json"), "metrics": matrix.plant("broken metrics")},
        "file": [_row(matrix, "result file"), {"metrics": dict.fromkeys(matrix.plant("file", words), "x")}],
    }


def _row(matrix: Matrix, place: str) -> dict[str, object]:
    def many(part: str) -> dict[str, object]:
        texts = {f"k{n}": text for n, text in enumerate(matrix.plant(f"{place} {part}"))}
        return {**texts, **matrix.values(f"{place} {part}")}

    names = {text: {"samples": [1.5]} for text in matrix.plant(f"{place} metric", matrix.words)}
    return {
        "config": many("config"),
        "labels": many("labels"),
        "software": many("software"),
        "host": matrix.one(f"{place} host"),
        "failed": matrix.one(f"{place} failed"),
        "metrics": {"tflops": {"samples": [2.5]}, **names},
    }


@long
@pytest.mark.slow
def test_output_and_rows(started: Cli, folder: Path, matrix: Matrix, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "given.json").write_text(json.dumps(_reported(matrix)))
    (folder / "bench.py").write_text(OUTPUT)
    for more in [["--json"]] if matrix.kinds is EVERY else [[], ["--json"]]:
        ran = started("run", *more, "--", "python", "bench.py", "given.json")
        assert ran.code == 0, ran.err[-2000:]
        # A terminal shows what the command prints: what is said beside it is ours.
        after = ran.out if more else ran.err.rpartition("last")[2]
        matrix.said.append(("run", after))
        assert "MOE-00" in after
    read_all(started, matrix, *(["MOE-000"] if matrix.kinds is EVERY else ["MOE-000", "MOE-001"]))
    offline(started, matrix, folder)
    matrix.nothing_leaked(folder)
    log = at(folder / "logbooks/moe/runs/MOE-000/01/output.log").read_text()
    assert log.count("keep ") >= 2 * (len(matrix.kinds) - 12)


@pytest.mark.slow
def test_values_of_variables_in_every_form(
    started: Cli, folder: Path, git: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = Matrix(kinds=())
    values = {f"{name}_TOKEN": Maker(name).word() for name in ("AROUND", "DECLARED", "LEADING")}
    printed = {f"{form} of {k}": make(v) for k, v in values.items() for form, make in FORMS.items()}
    matrix.planted.update({text.encode(): name for name, text in printed.items()})
    monkeypatch.setenv("AROUND_TOKEN", values["AROUND_TOKEN"])
    (folder / "given.txt").write_text("\n".join(f"keep {text} kept" for text in printed.values()))
    (folder / "bench.py").write_text((folder / "given.txt").read_text())
    given = [f"--env=DECLARED_TOKEN={values['DECLARED_TOKEN']}", "--label", printed["hex of AROUND_TOKEN"]]
    row = "print('RESULT', *(f'r{n}={line.split()[1]}' for n, line in enumerate(open('given.txt'))), 'tflops=1')"
    command = [f"LEADING_TOKEN={values['LEADING_TOKEN']}", "python", "-c", f"print(open('given.txt').read()); {row}"]
    title = " ".join(text for name, text in printed.items() if "AROUND" in name)
    assert started("run", "--title", title, *given, "--", *command, "given.txt").code == 0
    read_all(started, matrix, "MOE-000")
    matrix.nothing_leaked(folder)
    log = at(folder / "logbooks/moe/runs/MOE-000/01/output.log").read_text()
    assert log.count("keep ") == len(printed)
