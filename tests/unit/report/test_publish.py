"""`logbook publish`: one file, and a branch that is made and pushed without touching the work tree."""

from __future__ import annotations

import pytest

from logbook_agent.model.errors import Rejected
from logbook_agent.report.publish.targets import PublishedFile, check_no_secret
from logbook_agent.text.redaction.names import Secret
from logbook_agent.text.redaction.redactor import Redactor

SECRET = "gh" + "p_" + "aB3d" * 9


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("moe/artifacts/a.json", f'{{"token": "{SECRET}"}}'.encode()),
        ("moe.html", f"<p>{SECRET}</p>".encode()),
        ("moe/artifacts/a.bin", b"\x89\xff\0known-by-its-value\0"),
    ],
)
def test_a_secret_is_found_in_every_kind_of_file(path: str, content: bytes) -> None:
    redactor = Redactor(secrets=(Secret(name="MY_TOKEN", value="known-by-its-value"),))
    with pytest.raises(Rejected, match=path):
        check_no_secret([PublishedFile(path=path, content=content)], redactor)
