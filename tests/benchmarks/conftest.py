"""The fixtures of commands: benchmarks are started as commands too."""

from tests.cli.conftest import drumbeat, scratch

__all__ = ["drumbeat", "scratch"]
