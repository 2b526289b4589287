"""The input and the output of a measurement: loads, and the figures of one run."""

from __future__ import annotations

from dataclasses import dataclass, field

SENT_PER_S_MAX = 60_000.0  # by one process; recipients that it cannot reach in its time are not planned
RECIPIENTS_MAX = 10_000_000  # about 4 GB on disk when all are sent; a shorter campaign ends the run early
UNBOUNDED_S_MAX = 900.0  # for a load that ends with its messages
SPARE_S = 120.0  # beyond its duration: to start, to drain and to store, on a busy machine


@dataclass(frozen=True, slots=True)
class Load:
    """The load of a run: it is sent through `numbers` with a limit each, for `duration_s`, at most
    `messages`.

    `latency_ms` is the median reply time, `jitter` the sigma of its lognormal spread.
    `events`: three status events a message come back, and are stored and applied during the run. `limited`:
    the emulator enforces the limits; otherwise only the engine's pace applies them. `timed`: the reply times
    of some requests are measured. `metrics_port`: the engine's one process serves metrics there. `guards`:
    the campaign has quiet hours in the recipients' zone and a frequency cap. `tls`: it is sent by HTTPS.
    """

    numbers: int
    rate_per_s: float
    latency_ms: float = 0.0
    jitter: float = 0.0
    processes: int = 1
    duration_s: float | None = None
    messages: int | None = None
    events: bool = False
    limited: bool = True
    timed: bool = True
    metrics_port: int | None = None
    guards: bool = False
    tls: bool = False

    @property
    def total_per_s(self) -> float:
        return self.numbers * self.rate_per_s

    @property
    def recipients(self) -> int:
        """Return the planned recipients: as many as could be reached, up to RECIPIENTS_MAX."""
        if self.messages is not None:
            return self.messages
        assert self.duration_s is not None, "a load has an end"
        reachable_per_s = min(self.total_per_s, SENT_PER_S_MAX * self.processes)
        return min(int(reachable_per_s * (self.duration_s + 2)) + 1_000, RECIPIENTS_MAX)

    @property
    def longest_s(self) -> float:
        return (UNBOUNDED_S_MAX if self.duration_s is None else self.duration_s) + SPARE_S


@dataclass(frozen=True, slots=True)
class Pace:
    """The pace of the engine as shares of the limit: 1 is the limit.

    `reached`: the rate after the first half second; None if not every write time is known. `largest_*`: the
    fullest sliding second of any number, by write times and at the emulator. `throttled`: share of requests.
    """

    reached: float | None
    largest_written: float
    largest_at_service: float
    throttled: float


@dataclass(frozen=True, slots=True)
class StatusEvents:
    """The status events that were applied, the last one `late_s` after the last message, and the CPU of the
    receiver.
    """

    applied: int
    late_s: float
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Run:
    """One measurement of a sender. CPU seconds are those of sender, emulator and database."""

    messages: int
    elapsed_s: float
    cpu_s: float
    service_cpu_s: float | None = None
    database_cpu_s: float | None = None
    latency_ms: dict[str, float] = field(default_factory=dict)
    histogram: list[list[float]] = field(default_factory=list)
    pace: Pace | None = None
    by_second: dict[str, list[int]] = field(default_factory=dict)
    events: StatusEvents | None = None

    @property
    def per_s(self) -> float:
        return self.messages / self.elapsed_s

    @property
    def cpu_us(self) -> float:
        """Return the CPU microseconds of the sender for each message."""
        return self.cpu_s / self.messages * 1e6

    @property
    def service_us(self) -> float | None:
        return self._each_us(self.service_cpu_s)

    @property
    def database_us(self) -> float | None:
        return self._each_us(self.database_cpu_s)

    def _each_us(self, cpu_s: float | None) -> float | None:
        return None if cpu_s is None else cpu_s / self.messages * 1e6


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of Drumbeat other than sending. `unit`: the thing that both the stage and its baseline count."""

    name: str
    title: str
    unit: str
    baseline: str


@dataclass(frozen=True, slots=True)
class StageRun:
    """One measurement of a stage. CPU seconds are those of Drumbeat's processes and of Postgres.

    `baseline_per_s`: the baseline's rate in the same run. `p99_ms`: of the time to a reply.
    """

    count: int
    elapsed_s: float
    cpu_s: float
    database_cpu_s: float
    baseline_per_s: float
    p99_ms: float | None = None

    @property
    def per_s(self) -> float:
        return self.count / self.elapsed_s

    @property
    def cpu_us(self) -> float:
        """Return the CPU microseconds of Drumbeat's processes for each."""
        return self.cpu_s / self.count * 1e6

    @property
    def database_us(self) -> float:
        return self.database_cpu_s / self.count * 1e6
