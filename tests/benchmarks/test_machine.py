"""The CPU time of a process and its children: none is counted twice, and none is missed."""

import os
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from drumbeat.benchmarks.harness import machine

BUSY_S = 0.3
CHILD = f"""
import time
while time.process_time() < {BUSY_S}:
    pass
print("busy no more", flush=True)
input()
"""
TICKS_S = 0.1  # of both processes' clocks, which count in hundredths


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A child of this process that has taken BUSY_S and waits."""
    words = [sys.executable, "-c", CHILD]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        yield process


def test_a_child_counts_the_same_before_and_after_its_end(child: subprocess.Popen[bytes]) -> None:
    before_s = machine.tree_cpu_s(os.getpid())
    child.communicate(b"\n")

    took_s = machine.tree_cpu_s(os.getpid()) - before_s

    assert -TICKS_S < took_s < BUSY_S - TICKS_S


def test_a_child_that_ends_between_two_samples_is_counted(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    before_s = machine.tree_cpu_s(os.getpid())
    living = machine._living_children_s

    def after_its_end(root: psutil.Process) -> float:
        if child.returncode is None:
            child.communicate(b"\n")
        return living(root)

    monkeypatch.setattr(machine, "_living_children_s", after_its_end)

    assert machine.tree_cpu_s(os.getpid()) > before_s - TICKS_S
    assert child.returncode == 0
