"""The files of a recorded diff."""

from __future__ import annotations

import pytest

from logbook_agent.agents.recorded_diff import chosen, files_of
from logbook_agent.model.errors import StoreError, UsageError

A, B = "1" * 40, "2" * 40
DIFF = f"""\
diff --git a/bench b/bench b/bench b/bench
index {A}..{B} 100644
--- a/bench b/bench
+++ b/bench b/bench
@@ -1,2 +1,2 @@
-diff --git a/x b/x
+-- a/x
diff --git "a/\\303\\274/q\\".py" "b/\\303\\274/q\\".py"
new file mode 100755
index {"0" * 40}..{A}
GIT binary patch
literal 1
IcmZPo000310RR91

diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/sub b/sub
index {A}..{A} 160000
--- a/sub
+++ b/sub
@@ -1 +1 @@
-Subproject commit {A}
+Subproject commit {A}-dirty
diff --git a/moved b/moved
index {A}..{B} 160000
--- a/moved
+++ b/moved
@@ -1 +1 @@
-Subproject commit {A}
+Subproject commit {B}
diff --git a/link b/link
deleted file mode 100644
index {A}..{"0" * 40}
diff --git a/link b/link
new file mode 120000
index {"0" * 40}..{B}
"""


def test_paths_modes_and_digests() -> None:
    files = files_of(DIFF.encode())
    assert b"".join(file.text for file in files) == DIFF.encode()
    assert [file.path for file in files] == ["bench b/bench", 'ü/q".py', "run.sh", "sub", "moved", "link"]
    first, new, mode, sub, moved, link = files
    assert (first.old_oid, first.new_oid, first.old_mode, first.new_mode) == (A, B, "100644", "100644")
    assert (new.old_oid, new.new_oid, new.old_mode, new.new_mode) == (None, A, None, "100755")
    assert mode.is_mode_alone
    assert (mode.old_mode, mode.new_mode) == ("100644", "100755")
    assert (sub.is_submodule, sub.moves_submodule) == (True, False)
    assert (moved.is_submodule, moved.moves_submodule) == (True, True)
    assert (link.old_oid, link.new_oid, link.old_mode, link.new_mode) == (A, B, "100644", "120000")
    assert files_of(b"") == []


@pytest.mark.parametrize(
    "text",
    [
        "hello\n",
        "diff --git a/../x b/../x\n",
        "diff --git a/.git/config b/.git/config\n",
        "diff --git a/sub/.GIT/hooks/x b/sub/.GIT/hooks/x\n",
        "diff --git a/x b/y\n",
    ],
)
def test_what_is_no_recorded_diff(text: str) -> None:
    with pytest.raises(StoreError, match="the recorded diff cannot be read"):
        files_of(text.encode())


def test_declared_paths_are_files_and_folders() -> None:
    files = files_of(DIFF.encode())
    assert [file.path for file in chosen(files, ["ü", "run.sh"])] == ['ü/q".py', "run.sh"]
    assert chosen(files, []) == files
    with pytest.raises(UsageError, match="--paths run: the recorded diff does not change it"):
        chosen(files, ["run"])
