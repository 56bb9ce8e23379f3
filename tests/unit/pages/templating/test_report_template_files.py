"""Files that a project's own templates may not lead to: links, names that lead out, what is no template."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from logbook_agent.model.errors import StoreError
from logbook_agent.pages.templating.templates import Templates

pytestmark = pytest.mark.slow

NAME = "footer.md.j2"
SECRET = "wherever-this-is-read"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "secret.j2").write_text(SECRET)
    (tmp_path / "project/templates").mkdir(parents=True)
    return tmp_path / "project/templates"


def refused(own: Path) -> str:
    began = time.monotonic()
    with pytest.raises(StoreError) as caught:
        Templates(own).render(NAME, {})
    assert time.monotonic() - began < 5
    assert SECRET not in f"{caught.value.message}{caught.value.cause}{caught.value.hint}"
    assert caught.value.hint
    return caught.value.message


@pytest.mark.parametrize("how", ["include", "import", "extends"])
@pytest.mark.parametrize("name", ["../../secret.j2", "/../secret.j2", "sub/../../../secret.j2", "{secret}", "a\\0b"])
@pytest.mark.sample(6)
def test_a_name_that_leads_out(own: Path, tmp_path: Path, how: str, name: str) -> None:
    word = {"include": "include", "import": "import", "extends": "extends"}[how]
    tail = " as x" if how == "import" else ""
    place = name.format(secret=tmp_path / "secret.j2")
    (own / NAME).write_text(f'{{% {word} "{place}"{tail} %}}')
    assert "footer.md.j2" in refused(own)


def test_links_and_files_that_are_no_templates(own: Path, tmp_path: Path) -> None:
    (own / "other.j2").symlink_to(tmp_path / "secret.j2")
    (own / "sub").symlink_to(tmp_path)
    for name in (".env", ".git/config", "data.txt"):
        (own / name).parent.mkdir(exist_ok=True)
        (own / name).write_text(SECRET)
    for name, why in (
        ("other.j2", f"{own / 'other.j2'} is a symbolic link"),
        ("sub/secret.j2", f"{own / 'sub'} is a symbolic link"),
        *((name, f"{name} is not called *.j2") for name in (".env", ".git/config", "data.txt")),
    ):
        (own / NAME).write_text(f'{{% include "{name}" %}}')
        assert refused(own) == f"template {NAME}: {why}"
    (own / NAME).unlink()
    (own / NAME).symlink_to(tmp_path / "secret.j2")
    assert refused(own) == f"template {NAME}: {own / NAME} is a symbolic link"
