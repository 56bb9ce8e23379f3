"""Files that a project's own templates may not lead to: links, names that lead out, what is no template."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from logbook_agent.model.errors import StoreError
from logbook_agent.pages.templates import Templates

pytestmark = pytest.mark.slow

NAME = "footer.md.j2"
SECRET = "wherever-this-is-read"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "secret.j2").write_text(SECRET)
    (tmp_path / "project/templates").mkdir(parents=True)
    return tmp_path / "project/templates"


def rendered(own: Path) -> str:
    return Templates(own).render(NAME, {})


def refused(own: Path) -> str:
    began = time.monotonic()
    with pytest.raises(StoreError) as caught:
        rendered(own)
    assert time.monotonic() - began < 5
    assert SECRET not in f"{caught.value.message}{caught.value.cause}{caught.value.hint}"
    assert caught.value.hint
    return caught.value.message


@pytest.mark.parametrize("place", [NAME, "other.j2"])
def test_a_link_to_a_file_elsewhere(own: Path, tmp_path: Path, place: str) -> None:
    (own / NAME).write_text("{% include 'other.j2' %}")
    (own / place).unlink(missing_ok=True)
    (own / place).symlink_to(tmp_path / "secret.j2")
    assert refused(own) == f"template {place} is a link that points outside the template folder"


@pytest.mark.parametrize("how", ["include", "import", "extends"])
@pytest.mark.parametrize("name", ["../../secret.j2", "/../secret.j2", "sub/../../../secret.j2", "{secret}", "a\\0b"])
@pytest.mark.sample(6)
def test_a_name_that_leads_out(own: Path, tmp_path: Path, how: str, name: str) -> None:
    word = {"include": "include", "import": "import", "extends": "extends"}[how]
    tail = " as x" if how == "import" else ""
    place = name.format(secret=tmp_path / "secret.j2")
    (own / NAME).write_text(f'{{% {word} "{place}"{tail} %}}')
    assert "footer.md.j2" in refused(own)


def test_a_folder_that_is_a_link_out(own: Path, tmp_path: Path) -> None:
    (own / "sub").symlink_to(tmp_path)
    (own / NAME).write_text('{% include "sub/secret.j2" %}')
    assert refused(own) == "template sub/secret.j2 is a link that points outside the template folder"


@pytest.mark.parametrize("name", [".env", ".git/config", "data.txt"])
def test_files_that_are_no_templates(own: Path, name: str) -> None:
    (own / name).parent.mkdir(exist_ok=True)
    (own / name).write_text(SECRET)
    (own / NAME).write_text(f'{{% include "{name}" %}}')
    assert refused(own) == f"template {name} points to {Path(name).name}, which is not called *.j2"
    (own / NAME).unlink()
    (own / NAME).symlink_to(name)
    assert refused(own) == f"template {NAME} points to {Path(name).name}, which is not called *.j2"
