import csv
from pathlib import Path

DATA = Path(__file__).parent / "data"


def _pairs(name: str = "seed_pairs.csv") -> list[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_every_published_pair_is_there() -> None:
    assert len(_pairs()) == 36
    assert len(_pairs("seed_null_pairs.csv")) == 18
    for name in ("seed_pairs.csv", "seed_null_pairs.csv"):
        # A row is a published number of one line; two fractions stand in a line of the null table.
        keys = [(pair["source"], pair.get("null_target")) for pair in _pairs(name)]
        assert len(set(keys)) == len(keys)
