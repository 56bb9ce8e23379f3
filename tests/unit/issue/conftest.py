"""The bench that tests from outside have too."""

from tests.contract.issue.conftest import bench, github, github_server

__all__ = ["bench", "github", "github_server"]
