"""What texts in the code and pictures of the README may name, and what the folder of a feature may leave behind."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from logbook_agent import features
from tests.conftest import REPOSITORY


def texts() -> Iterator[tuple[str, str]]:
    """Where in the packages a text stands that is no docstring, and the text."""
    for path in sorted(p for package in ("logbook_agent", "bench_core") for p in (REPOSITORY / package).rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        lone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in lone:
                yield f"{path.relative_to(REPOSITORY)}:{node.lineno}", node.value


# A file or target of a checkout, as one types or looks it up.
CHECKOUT = re.compile(
    r"\b(docs|scripts|benchmarks|tests|tools|requirements)/\w|\bmake (setup|test|check)|(README|CONTRIBUTING)\.md"
)


def test_no_message_names_a_file_of_the_checkout() -> None:
    """A page of docs/ is named by `manual`, which knows where it was installed."""
    elsewhere = ("https://", "scripts/iris/dev_tpu.py")  # of the projects of others
    found = [(where, text) for where, text in texts() if not any(name in text for name in elsewhere)]
    assert [where for where, text in found if CHECKOUT.search(text)] == []


def test_pictures_of_the_readme_have_the_address_of_the_repository() -> None:
    """A package index shows the README, where a path leads nowhere."""
    urls = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["urls"]
    raw = urls["Source"].replace("https://github.com/", "https://raw.githubusercontent.com/") + "/main/"
    readme = (REPOSITORY / "README.md").read_text()
    pictures = re.findall(r'(?:src|srcset)="([^"]+)"|!\[[^]]*\]\(([^)]+)\)', readme)
    assert len(pictures) >= 2
    for picture in map("".join, pictures):
        assert picture.startswith(raw)
        assert (REPOSITORY / picture.removeprefix(raw)).exists()


def test_what_a_folder_leaves_behind_is_no_feature(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cluster/__pycache__").mkdir(parents=True)
    monkeypatch.setattr(features, "_PACKAGE", tmp_path)
    assert features.present() == []
