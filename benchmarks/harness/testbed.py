"""The place of measurements: the database, the emulators, and the callback for progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from drumbeat.benchmarks.harness.database import Database
from drumbeat.benchmarks.harness.emulators import EmulatorFactory, own_emulator
from drumbeat.benchmarks.harness.workers import run_worker

STAGE_S_MAX = 900.0

OnProgress = Callable[[float, float | None], None]
"""A function of (seconds since the measurement began, messages a second accepted now or None)."""


@dataclass(frozen=True, slots=True)
class Testbed:
    """A testbed. `on_progress` is called several times a second during a measurement."""

    database: Database
    emulator: EmulatorFactory = own_emulator
    on_progress: OnProgress | None = None

    def run_stage(self, function: str, arguments: dict[str, Any], cores: Sequence[int]) -> dict[str, Any]:
        """Call `function` in a worker. Its rate is known only at the end."""
        began_s = time.monotonic()

        def poll() -> None:
            if self.on_progress is not None:
                self.on_progress(time.monotonic() - began_s, None)

        arguments = {"url": self.database.url, **arguments}
        return run_worker(function, arguments, cores, STAGE_S_MAX, poll)
