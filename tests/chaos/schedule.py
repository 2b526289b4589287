"""Which faults strike a run, and when: a function of the seed alone, so that any run can be repeated."""

import random
from dataclasses import dataclass
from enum import StrEnum


class Strike(StrEnum):
    """One fault. The owner is the process that holds the number at that moment; a standby waits beside it."""

    KILL_OWNER = "kill owner"
    KILL_STANDBY = "kill standby"
    KILL_RECEIVER = "kill receiver"
    FREEZE_OWNER = "freeze owner"
    FORGE_EVENTS = "forge events"
    STOP_DATABASE = "stop database"
    END_CONNECTIONS = "end connections"
    RESET_CONNECTIONS = "reset connections"
    STALL_CONNECTIONS = "stall connections"
    CUT_CONNECTIONS = "cut connections"
    DELAY_CONNECTIONS = "delay connections"
    LOSE_ANSWERS = "lose answers"  # statements and commits arrive, their answers do not; then all is reset
    BLOCK_OUTCOMES = "block outcomes, then kill owner"  # claims continue, outcomes cannot be stored
    HALF_OPEN_OWNER = "half-open connections of the owner"  # bytes vanish, nothing is closed
    HALF_OPEN_ALL = "half-open connections of all"
    FILL_DISK = "fill disk"
    FILL_DISK_AND_KILL = "fill disk, kill owner"
    HOLD_RECEIVER_DOWN = "receiver down"
    STORM_THROTTLES = "throttle storm"
    SLOW_BYTES = "slow bytes"
    EARLY_EVENTS = "events before replies"
    EXPIRE_TOKEN = "expire token"
    PAUSE_TEMPLATE = "pause template"
    STOP_NUMBER = "stop number"


KILLS = (Strike.KILL_OWNER, Strike.KILL_OWNER, Strike.KILL_OWNER, Strike.KILL_STANDBY, Strike.KILL_RECEIVER)
DATABASE = (
    Strike.STOP_DATABASE,
    Strike.END_CONNECTIONS,
    Strike.RESET_CONNECTIONS,
    Strike.STALL_CONNECTIONS,
    Strike.CUT_CONNECTIONS,
    Strike.DELAY_CONNECTIONS,
    Strike.LOSE_ANSWERS,
)
# What the service does to requests for a while, and what it does until a person mends it.
PASSING = (Strike.STORM_THROTTLES, Strike.SLOW_BYTES, Strike.EARLY_EVENTS)
MENDED = (Strike.EXPIRE_TOKEN, Strike.PAUSE_TEMPLATE, Strike.STOP_NUMBER)
# What the service does beside: shares of requests or of events.
SERVICE_WEATHER = (
    {"kind": "lost-reply", "probability": 0.004},
    {"kind": "reset-before-reading", "probability": 0.004},
    {"kind": "reset-before-accepting", "probability": 0.004},
    {"kind": "reset-after-accepting", "probability": 0.004},
    {"kind": "server-error", "probability": 0.004, "status": 503, "body": False, "accepted": True},
    {"kind": "refusal", "probability": 0.004, "code": 131016},
    {"kind": "latency", "probability": 0.02, "median_ms": 200},
)
EVENT_WEATHER = (
    {"kind": "events-duplicate", "probability": 0.2},
    {"kind": "events-reordered", "probability": 0.2},
    {"kind": "events-late", "probability": 0.1, "delay_s": 1.5},
)
# Minutes of the service's clock, which is set ahead once nothing else is left to come.
LATE_WEATHER = ({"kind": "events-late", "probability": 0.3, "delay_s": 300},)
MISSING_WEATHER = ({"kind": "events-missing", "probability": 0.3},)


@dataclass(frozen=True, slots=True)
class Planned:
    """A strike `at_s` seconds after the first message.

    `lasts_s` for those that last, `share` of the requests for those that do not strike all.
    """

    at_s: float
    strike: Strike
    lasts_s: float = 0.0
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Plan:
    """One run: its strikes in order of time, and the weather as the emulator takes it."""

    seed: int
    strikes: tuple[Planned, ...]
    weather: tuple[dict[str, object], ...] = ()

    @property
    def events_missing(self) -> bool:
        """Whether the service never sends some events."""
        return any(fault["kind"] == "events-missing" for fault in self.weather)

    @property
    def failures_reported(self) -> bool:
        """Whether the service reports some accepted messages as failed: those in delivery when a template stops."""
        return any(strike.strike is Strike.PAUSE_TEMPLATE for strike in self.strikes)

    @property
    def words(self) -> str:
        return ", ".join(f"{strike.strike} at {strike.at_s:.2f} s" for strike in self.strikes)


def kills(seed: int, sending_s: float) -> Plan:
    """One kill, sometimes two, at any moment of the sending; every other run in bad weather."""
    chance = random.Random(f"kills {seed}")
    count = 2 if chance.random() < 0.25 else 1
    strikes = tuple(
        Planned(chance.uniform(0.0, sending_s), chance.choice(KILLS)) for _ in range(count)
    )  # fmt: skip
    extra = (Planned(chance.uniform(0.0, sending_s), Strike.FORGE_EVENTS),) if chance.random() < 0.1 else ()
    return Plan(seed, _ordered(*strikes, *extra), _weather(chance))


def owner_kills(seed: int, sending_s: float) -> Plan:
    """One kill of the owner, with about a second of sending behind it and more to come."""
    chance = random.Random(f"owner kills {seed}")
    return Plan(seed, (Planned(chance.uniform(0.4, 0.7) * sending_s, Strike.KILL_OWNER),))


def freezes(seed: int, sending_s: float, lease_s: float) -> Plan:
    """The owner stops for longer than its lease, then continues."""
    chance = random.Random(f"freezes {seed}")
    lasts_s = lease_s + chance.uniform(1.0, 5.0)
    strike = Planned(chance.uniform(0.2, sending_s * 0.8), Strike.FREEZE_OWNER, lasts_s)
    return Plan(seed, (strike,), _weather(chance))


def database(seed: int, sending_s: float) -> Plan:
    """One fault of the database or of the way to it; the seeds take turns at the kinds."""
    chance = random.Random(f"database {seed}")
    strike = DATABASE[seed % len(DATABASE)]
    planned = Planned(chance.uniform(0.1, sending_s), strike, chance.uniform(0.5, 2.0))
    return Plan(seed, (planned,), _weather(chance))


def service(seed: int, sending_s: float) -> Plan:
    """The service fails in mid-campaign; the seeds take turns at the kinds. Some end by themselves, some never."""
    chance = random.Random(f"service {seed}")
    kinds = (*PASSING, *MENDED)
    strike = kinds[seed % len(kinds)]
    at_s = chance.uniform(0.1, 0.6) * sending_s
    lasts_s, share = chance.uniform(0.3, 0.8) * sending_s, chance.uniform(0.1, 0.4)
    killed = (Planned(at_s + chance.uniform(0.0, lasts_s), Strike.KILL_OWNER),) if strike in PASSING else ()
    return Plan(seed, (Planned(at_s, strike, lasts_s, share), *(killed if chance.random() < 0.5 else ())))


def events(seed: int, sending_s: float) -> Plan:
    """Events forged, missing, early or late by minutes, the receiver down, and an owner killed among them."""
    chance = random.Random(f"events {seed}")
    kinds = (Strike.HOLD_RECEIVER_DOWN, Strike.FORGE_EVENTS, Strike.EARLY_EVENTS)
    strike = Planned(
        chance.uniform(0.1, 0.6) * sending_s,
        kinds[seed % 3],
        chance.uniform(1.0, 4.0),
        chance.uniform(0.2, 0.6),
    )
    kill = Planned(chance.uniform(0.2, 0.8) * sending_s, Strike.KILL_OWNER)
    weather = (MISSING_WEATHER, LATE_WEATHER, EVENT_WEATHER)[seed // 3 % 3]
    return Plan(seed, _ordered(strike, kill), weather)


def half_open(seed: int, sending_s: float) -> Plan:
    """Connections to the database die without a signal: the owner's, or all.

    With every other seed they are reset after a while; else their clients must find out by themselves.
    """
    chance = random.Random(f"half-open {seed}")
    strike = Strike.HALF_OPEN_ALL if seed % 3 == 0 else Strike.HALF_OPEN_OWNER
    at_s, lasts_s = chance.uniform(0.2, 0.7) * sending_s, chance.uniform(6.0, 12.0)
    return Plan(seed, (Planned(at_s, strike, lasts_s if seed % 2 else 0.0),), _weather(chance))


def disk(seed: int, sending_s: float) -> Plan:
    """The database's disk is full for a while; with every other seed the owner dies meanwhile."""
    chance = random.Random(f"disk {seed}")
    strike = Strike.FILL_DISK_AND_KILL if seed % 2 else Strike.FILL_DISK
    return Plan(seed, (Planned(chance.uniform(0.1, 0.5) * sending_s, strike, chance.uniform(1.0, 4.0)),))


def policy(seed: int, sending_s: float, on_unknown: str) -> Plan:
    """Attempts in doubt early in a run: the owner dies, replies get lost.

    Events are late only if the policy may send twice.
    """
    chance = random.Random(f"policy {on_unknown} {seed}")
    late = LATE_WEATHER if on_unknown == "resend" else ()
    kill = Planned(chance.uniform(0.2, 0.35) * sending_s, Strike.KILL_OWNER)
    return Plan(seed, (kill,), ({"kind": "lost-reply", "probability": 0.01}, *late))


def _weather(chance: random.Random) -> tuple[dict[str, object], ...]:
    return (*SERVICE_WEATHER, *EVENT_WEATHER) if chance.random() < 0.5 else ()


def _ordered(*strikes: Planned) -> tuple[Planned, ...]:
    return tuple(sorted(strikes, key=lambda planned: planned.at_s))
