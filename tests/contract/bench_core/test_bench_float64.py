"""float64: for the check alone, of the same numbers, and in float64 throughout."""

import pytest

from tests.seams import bench_core as main


def test_float64_is_not_timed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["hillclimb", "--dtype", "float64"])
    assert exit_.value.code == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: --dtype float64 is not timed",
        "  cause: nothing trains in float64; it shows, more sharply than a bound on roundings, that a form is right",
        "  next: run bench-core check for float64, or use --dtype float32",
    ]
