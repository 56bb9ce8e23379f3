"""The browser of the tests sees what it is to find."""

from __future__ import annotations

from tests.contract.browser.site import Site, violations


def test_a_request_to_elsewhere_is_blocked_and_counted(site: Site) -> None:
    (site.folder / "a.html").write_text('<!doctype html><title>a</title><img alt="" src="http://192.0.2.1/b.png">')
    site.open("a.html")
    assert site.elsewhere == ["http://192.0.2.1/b.png"]
    site.elsewhere.clear()
    assert [c for c in site.complaints if "ERR_FAILED" in c]
    site.complaints.clear()


def test_what_is_hard_to_use_is_found(site: Site) -> None:
    (site.folder / "a.html").write_text('<!doctype html><html lang="en"><title>a</title><main><h1>a</h1><input>')
    found = violations(site.open("a.html"))
    assert [v.partition(":")[0] for v in found] == ["label"]
    site.complaints.clear()  # the browser asks for an icon
