"""The command with a database of the test's own."""

from tests.cli.conftest import drumbeat

__all__ = ["drumbeat"]
