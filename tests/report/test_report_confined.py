"""A project's own templates come with a branch: whatever they try, they are bounded."""

from __future__ import annotations

import json
import os
import time
import warnings
from pathlib import Path

import pytest

from logbook_agent.model.errors import StoreError
from logbook_agent.pages.templating.confined import TemplateLimits
from logbook_agent.pages.templating.templates import INCLUDED, NAMES, Templates
from tests.conftest import REPOSITORY

pytestmark = pytest.mark.slow

NAME = "footer.md.j2"
QUICK = TemplateLimits(cpu_s=0.25, spare_s=1.0, wall_s=10.0, memory_bytes=64 * 2**20, output_bytes=2**20)
# Starting the process, its processor time, and a machine that is busy with other tests.
BOUND_S = 8.0
CPU = "template footer.md.j2 takes more than 0.25 s of processor time"
MEMORY = "takes more than 64 MiB of memory"
OUTPUT = "template footer.md.j2 makes a text of more than 1 MiB"


def own(folder: Path, text: str, limits: TemplateLimits = QUICK) -> Templates:
    (folder / NAME).write_text(text)
    return Templates(folder, limits=limits)


def refusal(templates: Templates, **values: object) -> str:
    began = time.monotonic()
    with pytest.raises(StoreError) as caught:
        templates.render(NAME, values)
    assert time.monotonic() - began < BOUND_S
    assert caught.value.cause
    assert caught.value.hint
    return caught.value.message


LOOP = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ 'a' * 10**10 }}", MEMORY),
        ("{{ x * 10**10 }}", MEMORY),
        ("{{ '%999999999d' % 1 }}", MEMORY),
        ("{{ '{:>999999999}'.format(1) }}", MEMORY),
        ("{{ 'a'|center(10**9) }}", MEMORY),
        ("{{ 'a'|indent(10**9, true) }}", MEMORY),
        ("{{ (['a' * 10**6] * 10**4)|join }}", "takes more than"),
        ("{% set n = namespace(s='a') %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}", MEMORY),
        ("{{ 9**(9**9) }}", CPU),
        ("{% set x = 9 %}{{ x**(x**x) }}", CPU),
        (LOOP, CPU),
        (LOOP.replace("{% endfor %}{% endfor %}", "a{% endfor %}{% endfor %}"), "more than"),
        ("{% for a in range(99999) %}{{ 'a' * 99 }}{% endfor %}", OUTPUT),
        ("{{ ('a ' * 5 * 10**6)|wordwrap(1)|wordcount }}", ""),
        ("{{ ('http://a.b/(' * 10**5)|urlize(1)|length }}" * 99, ""),
        ("{{ ('<' * 10**6)|striptags|length }}" * 99, ""),
        ("{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}", "RecursionError"),
        (f"{{% include '{NAME}' %}}", "RecursionError"),
        (f"{{% extends '{NAME}' %}}", ""),
        ("{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}", "RecursionError"),
        ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", ""),
        ("{{ " + "-" * 5000 + "1 }}", ""),
        ("{% if 1 %}" * 3000 + "{% endif %}" * 3000, ""),
        ("{{ range(10**9)|list }}", "OverflowError: Range too big"),
    ],
)
@pytest.mark.sample(3)
@pytest.mark.slow
def test_a_template_that_never_ends_is_stopped(tmp_path: Path, text: str, said: str) -> None:
    assert said in refusal(own(tmp_path, text), x="a")


def test_the_error_has_three_parts(tmp_path: Path) -> None:
    templates = own(tmp_path, "{{ 'a' * 10**10 }}")
    with pytest.raises(StoreError) as caught:
        templates.render(NAME, {})
    assert caught.value.message == f"template footer.md.j2, line 1, {MEMORY}"
    assert caught.value.cause == (
        f"for one document, a template in {tmp_path} has 0.25 s of processor time, 64 MiB of memory and 1 MiB of text"
    )
    assert caught.value.hint == "look for a loop or a very long text in it, or remove it for the built-in template"


@pytest.mark.slow
def test_memory_is_watched_where_the_system_does_not_refuse_it(tmp_path: Path) -> None:
    limits = TemplateLimits(cpu_s=5.0, memory_bytes=200 * 2**20, address_space=False)
    text = "{% set n = namespace(s=['abcdefgh']) %}{% for i in range(30) %}{% set n.s = n.s + n.s %}{% endfor %}"
    assert refusal(own(tmp_path, text, limits)) == "template footer.md.j2 takes more than 200 MiB of memory"


def test_a_process_that_gives_no_answer_is_ended(tmp_path: Path) -> None:
    limits = TemplateLimits(cpu_s=60.0, spare_s=60.0, wall_s=0.5)
    assert refusal(own(tmp_path, LOOP, limits)) == "template footer.md.j2 gave no text within 0.5 s"


def test_without_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "none"))
    said = f"template footer.md.j2 is not rendered: {tmp_path}/none could not be started: No such file or directory"
    assert refusal(own(tmp_path, "x")) == said
    monkeypatch.setattr("sys.executable", "/bin/false")
    assert refusal(own(tmp_path, "x")) == (
        "template footer.md.j2 is not rendered: the process for it ended with exit code 1"
    )


@pytest.mark.slow
def test_a_template_that_met_a_limit_is_not_tried_again(tmp_path: Path) -> None:
    templates = own(tmp_path, LOOP)
    (tmp_path / "entry.md.j2").write_text("fine")
    assert refusal(templates) == CPU
    began = time.monotonic()
    for _ in range(100):
        assert refusal(templates) == CPU
    # Each of them would take a quarter of a second.
    assert time.monotonic() - began < 10
    assert templates.render("entry.md.j2", {}) == "fine"


@pytest.mark.slow
def test_documents_that_are_slow_together_are_stopped(tmp_path: Path) -> None:
    limits = TemplateLimits(cpu_s=5.0, spare_s=0.5, mean_s=0.001)
    templates = own(tmp_path, "{% for a in range(99999) %}{% endfor %}" * 5, limits)
    began = time.monotonic()
    with pytest.raises(StoreError, match=r"the documents of one command take more than 0\.5 s of processor time"):
        [templates.render(NAME, {}) for _ in range(1000)]
    assert time.monotonic() - began < BOUND_S


def test_many_quick_documents_are_not(tmp_path: Path) -> None:
    templates = own(tmp_path, "{{ x }}", TemplateLimits(spare_s=0.1, mean_s=0.02))
    assert [templates.render(NAME, {"x": i}) for i in range(500)] == [str(i) for i in range(500)]


def test_a_fork_has_its_own_process(tmp_path: Path) -> None:
    templates = own(tmp_path, "{{ x }}")
    assert templates.render(NAME, {"x": 1}) == "1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if not pid:
        status = 1
        try:
            status = int(any(templates.render(NAME, {"x": f"child {i}"}) != f"child {i}" for i in range(50)))
        finally:
            os._exit(status)
    assert [templates.render(NAME, {"x": i}) for i in range(50)] == [str(i) for i in range(50)]
    assert os.waitpid(pid, 0)[1] == 0
    assert templates.render(NAME, {"x": 2}) == "2"


def test_no_process_is_left(tmp_path: Path) -> None:
    templates = own(tmp_path, "{{ x }}")
    templates.render(NAME, {"x": 1})
    pid = templates._confined._servers[os.getpid()]._process.pid
    os.kill(pid, 0)
    del templates
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ x.__init__ }}",
        "{{ x['__class__'] }}",
        "{{ x|attr('__class__') }}",
        "{{ x|attr('__cla' ~ 'ss__') }}",
        "{{ [x]|map(attribute='__class__.__mro__')|list }}",
        "{{ [x]|map('attr', '__class__')|map('list')|list }}",
        "{{ '{0.__class__}'.format(x) }}",
        "{{ ('{0.__class__}'|attr('format'))(x) }}",
        "{% set f = '{0.__class__}'.format %}{{ f(x) }}",
        "{{ ['{a.__class__}'.format]|map('string')|list }}{{ '{a.__class__}'.format(a=x) }}",
        "{{ '{a.__class__}'.format_map({'a': x}) }}",
        "{{ [x]|sum(attribute='__class__') }}",
        "{{ lipsum.__globals__['os'].environ }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ joiner.__init__.__globals__ }}",
        "{{ namespace.__init__.__globals__ }}",
        "{{ self.__init__.__globals__ }}",
        "{{ self._TemplateReference__context }}",
        "{{ self._TemplateReference__context.environment.loader._folders }}",
        "{{ (self|attr('_TemplateReference__context')).name }}",
        "{% macro m() %}{{ caller.__code__ }}{% endmacro %}{% call m() %}{% endcall %}",
        "{% macro m() %}{% endmacro %}{{ m.__init__.__globals__ }}",
        "{{ m._func.__globals__ }}",
        "{{ (x|list).append(1) }}",
        "{{ {}.update(a=1) }}",
        "{% import 'entry.md.j2' as e %}{{ e.__loader__ }}",
        "{{ dict.__base__ }}",
        "{{ loop.__class__ }}",
        "{{ ''.encode.__self__ }}",
    ],
)
def test_the_known_ways_out_of_the_sandbox_are_closed(tmp_path: Path, text: str) -> None:
    (tmp_path / "entry.md.j2").write_text("fine")
    message = refusal(own(tmp_path, text), x={"a": 1})
    assert "unsafe" in message or "undefined" in message or "has no" in message or "object" in message


def test_the_process_has_nothing_to_give_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GH_TOKEN", "nothing")
    templates = own(tmp_path, "{{ x }}")
    assert templates.render(NAME, {"x": 1}) == "1"
    process = Path(f"/proc/{templates._confined._servers[os.getpid()]._process.pid}")
    if not process.exists():
        pytest.skip("needs /proc")
    assert b"GH_TOKEN" not in (process / "environ").read_bytes()
    # Its three pipes, and nothing that this process had open.
    assert sorted(p.name for p in (process / "fd").iterdir()) == ["0", "1", "2"]
    limits = {line[:26].strip(): line[26:].split()[0] for line in (process / "limits").read_text().splitlines()}
    assert (limits["Max file size"], limits["Max core file size"], limits["Max processes"]) == ("0", "0", "0")


def test_controls_and_halves_of_characters_are_replaced(tmp_path: Path) -> None:
    text = own(tmp_path, r'{{ "a\udc80\x1b[2Jb\r\nc\x00" }}é' + "\n\n").render(NAME, {})
    assert text == "a\ufffd\ufffd[2Jb\nc\ufffdé\n"


def test_values_arrive_as_they_are(tmp_path: Path) -> None:
    values = {"a": ["é\u2028\U0001f600", 1.5, 10**30, None, True], "b": {"c d": "\n"}, "d": ("t", 2)}
    text = own(tmp_path, "{{ [a, b, d]|tojson }}").render(NAME, values)
    assert json.loads(text) == [values["a"], values["b"], ["t", 2]]


def test_builtin_templates_start_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    templates = own(tmp_path, "{{ x }}")
    monkeypatch.setattr("subprocess.Popen", None)
    assert templates.render("issue_title.j2", {"logbook": {"title": "T"}}) == "Experiment: T"


def test_what_the_builtin_templates_include_is_known() -> None:
    found = {}
    for name in NAMES:
        text = (REPOSITORY / "templates" / name).read_text(encoding="utf-8")
        if others := tuple(other for other in NAMES if f'"{other}"' in text):
            found[name] = others
    assert found == INCLUDED
