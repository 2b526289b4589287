"""What happens before and after the sending, each in a process of its own and beside its yardstick."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from campaigns.bench.folding import Folded, Stream
from campaigns.bench.machine import CORES, on_every_core, sender_cores
from campaigns.bench.planning import Planned
from campaigns.bench.receiving import Received
from campaigns.bench.rounds import Place, run_call
from campaigns.bench.worker import Call

STAGE_S_MAX = 900.0


@dataclass(frozen=True, slots=True)
class Stage:
    """One of them: `name` for programs, the others for people; `unit` is what the yardstick counts too."""

    name: str
    title: str
    unit: str
    yardstick: str


@dataclass(frozen=True, slots=True)
class StageRun:
    """One measurement: how many in how long. CPU seconds are of our processes and of Postgres.

    `yardstick_per_s`: what the yardstick did in the same run. `p99_ms`: of the time to an answer.
    """

    count: int
    elapsed_s: float
    cpu_s: float
    database_cpu_s: float
    yardstick_per_s: float
    p99_ms: float | None = None

    @property
    def per_s(self) -> float:
        return self.count / self.elapsed_s

    @property
    def cpu_us(self) -> float:
        """Of our processes, for each."""
        return self.cpu_s / self.count * 1e6

    @property
    def database_us(self) -> float:
        return self.database_cpu_s / self.count * 1e6


PLAN = Stage("plan", "plan an audience", "rows", "bare COPY of the same file")
_BARE_PROTOCOL = "a bare Protocol that answers 200"
RECEIVE = {
    1: Stage("receive_one", "receive statuses, one a POST", "statuses", _BARE_PROTOCOL),
    100: Stage("receive_hundred", "receive statuses, a hundred a POST", "statuses", _BARE_PROTOCOL),
}
_BARE_UPDATE = "bare UPDATE by primary key"
FOLD: dict[Stream, Stage] = {
    "close together": Stage(
        "fold_close", "fold events, a recipient's close together", "events", _BARE_UPDATE
    ),
    "each alone": Stage("fold_alone", "fold events, each alone in its batch", "events", _BARE_UPDATE),
}


def run_plan(place: Place, rows: int) -> StageRun:
    """Plan an audience of so many rows, on every core."""
    database = place.database
    arguments = {"url": database.url, "server_pid": database.pid, "rows": rows}
    with on_every_core(database.pid):
        found = Planned(**_called(place, "campaigns.bench.planning:measure", arguments, CORES))
    cpu_s = found.own_cpu_s + found.workers_cpu_s
    return StageRun(found.rows, found.elapsed_s, cpu_s, found.database_cpu_s, found.bare_per_s)


def run_receive(place: Place, statuses: int, seconds: float) -> StageRun:
    """Post bodies of so many statuses for so long; the receiver has the sender's core."""
    arguments = {
        "url": place.database.url,
        "server_pid": place.database.pid,
        "statuses": statuses,
        "seconds": seconds,
        "receiver_cores": sender_cores(),
        "load_cores": CORES[-1:],
    }
    found = Received(**_called(place, "campaigns.bench.receiving:measure", arguments, CORES))
    return StageRun(
        found.posts * statuses,
        found.elapsed_s,
        found.cpu_s,
        found.database_cpu_s,
        found.bare_per_s * statuses,
        found.p99_ms,
    )


def run_fold(place: Place, recipients: int, stream: Stream) -> StageRun:
    """Fold three events of each recipient."""
    arguments = {"url": place.database.url, "recipients": recipients, "stream": stream}
    found = Folded(**_called(place, "campaigns.bench.folding:measure", arguments, sender_cores()))
    return StageRun(found.events, found.elapsed_s, found.cpu_s, found.database_cpu_s, found.bare_per_s)


def _called(place: Place, function: str, arguments: dict[str, Any], cores: list[int]) -> dict[str, Any]:
    began_s = time.monotonic()

    def look() -> None:
        if place.look is not None:
            place.look(time.monotonic() - began_s, None)  # how fast it goes is known in the end only

    return run_call(Call(function, arguments), cores, STAGE_S_MAX, look)
