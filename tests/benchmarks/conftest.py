"""The fixtures of commands: benchmarks are started as commands too."""

from tests.cli.conftest import drumbeat, place

__all__ = ["drumbeat", "place"]
