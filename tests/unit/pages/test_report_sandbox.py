"""A project's own templates come with a branch: whatever they try, they are bounded."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from logbook_agent.model.errors import StoreError
from logbook_agent.pages.sandbox import TemplateLimits
from logbook_agent.pages.templates import Templates

pytestmark = pytest.mark.slow

NAME = "footer.md.j2"
QUICK = TemplateLimits(cpu_s=0.25, memory_bytes=64 * 2**20, output_bytes=2**20)
# Its processor time, on a machine that is busy with other tests.
BOUND_S = 8.0
CPU = "template footer.md.j2 takes too much processor time"
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


GROWING = "{% set n = namespace(s='a') %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}"
LOOP = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ 'a' * 10**10 }}", MEMORY),
        ("{{ '%999999999d' % 1 }}", MEMORY),
        ("{{ 'a'|indent(10**9, true) }}", MEMORY),
        ("{{ 'a'.center(10**12) }}", MEMORY),
        ("{{ '{:>10000000000}'.format(x) }}", MEMORY),
        ("{{ [1]|batch(10**9, x)|list }}", MEMORY),
        (GROWING, MEMORY),
        ("{{ 9**(9**9) }}", CPU),
        (LOOP, CPU),
        ("{% for a in range(99999) %}{{ 'a' * 99 }}{% endfor %}", OUTPUT),
        ("{{ ('a ' * 5 * 10**6)|wordwrap(1)|wordcount }}", ""),
        ("{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}", "RecursionError"),
        (f"{{% include '{NAME}' %}}", "RecursionError"),
        ("{% if 1 %}" * 3000 + "{% endif %}" * 3000, ""),
    ],
)
@pytest.mark.sample(2)
@pytest.mark.slow
def test_a_template_that_never_ends_is_stopped(tmp_path: Path, text: str, said: str) -> None:
    assert said in refusal(own(tmp_path, text), x="a")


@pytest.mark.parametrize(("text", "said"), [(LOOP, CPU), ("{{ 'a' * 10**10 }}", MEMORY), (GROWING, MEMORY)])
def test_it_is_stopped_in_whatever_thread_it_runs(tmp_path: Path, text: str, said: str) -> None:
    """Other threads may be the user's own program, from which the system takes no memory."""
    with ThreadPoolExecutor(1) as pool:
        assert said in pool.submit(refusal, own(tmp_path, text)).result()


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
@pytest.mark.sample(12)
def test_the_known_ways_out_of_the_sandbox_are_closed(tmp_path: Path, text: str) -> None:
    (tmp_path / "entry.md.j2").write_text("fine")
    message = refusal(own(tmp_path, text), x={"a": 1})
    assert "unsafe" in message or "undefined" in message or "has no" in message or "object" in message


def test_values_arrive_as_they_are(tmp_path: Path) -> None:
    values = {"a": ["é\u2028\U0001f600", 1.5, 10**30, None, True], "b": {"c d": "\n"}, "d": ("t", 2)}
    text = own(tmp_path, "{{ [a, b, d]|tojson }}").render(NAME, values)
    assert json.loads(text) == [values["a"], values["b"], ["t", 2]]
