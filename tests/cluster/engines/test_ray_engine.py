"""The engine of the tests itself: it is alone in its network, and both nodes can be ended and come back."""

from __future__ import annotations

import requests

from tests.cluster.engines import namespace
from tests.cluster.engines.ray_engine import Ray
from tests.running.executors.conftest import wait_for


def nodes(ray: Ray) -> set[str]:
    """What the nodes offer that live."""
    rows = requests.get(f"{ray.address}/api/v0/nodes?detail=1", timeout=10).json()["data"]["result"]["result"]
    offers = [row["resources_total"] for row in rows if row["state"] == "ALIVE"]
    return {name for name in ("left", "right") for offer in offers if name in offer}


def test_two_nodes_in_a_network_of_their_own(ray: Ray) -> None:
    assert namespace.is_alone()
    assert nodes(ray) == {"left", "right"}


def test_a_killed_node_comes_back(ray: Ray) -> None:
    ray.kill("node")
    wait_for(lambda: nodes(ray) == {"left"}, within_s=60)
    ray.mend()
    assert nodes(ray) == {"left", "right"}
