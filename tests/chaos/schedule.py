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
    BLOCK_OUTCOMES = "block outcomes, then kill owner"  # claims go on, outcomes cannot be stored


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


@dataclass(frozen=True, slots=True)
class Planned:
    """A strike `at_s` seconds after the first message; `lasts_s` for those that last."""

    at_s: float
    strike: Strike
    lasts_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Plan:
    """One run: its strikes in order of time, and the weather as the emulator takes it."""

    seed: int
    strikes: tuple[Planned, ...]
    weather: tuple[dict[str, object], ...] = ()

    @property
    def words(self) -> str:
        return ", ".join(f"{one.strike} at {one.at_s:.2f} s" for one in self.strikes)


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
    """The owner stands still for longer than it owns the number, then goes on."""
    chance = random.Random(f"freezes {seed}")
    lasts_s = lease_s + chance.uniform(1.0, 5.0)
    strike = Planned(chance.uniform(0.2, sending_s * 0.8), Strike.FREEZE_OWNER, lasts_s)
    return Plan(seed, (strike,), _weather(chance))


def database(seed: int, sending_s: float) -> Plan:
    """One fault of the database or of the way to it; the seeds go round the kinds."""
    chance = random.Random(f"database {seed}")
    strike = DATABASE[seed % len(DATABASE)]
    planned = Planned(chance.uniform(0.1, sending_s), strike, chance.uniform(0.5, 2.0))
    return Plan(seed, (planned,), _weather(chance))


def _weather(chance: random.Random) -> tuple[dict[str, object], ...]:
    return (*SERVICE_WEATHER, *EVENT_WEATHER) if chance.random() < 0.5 else ()


def _ordered(*strikes: Planned) -> tuple[Planned, ...]:
    return tuple(sorted(strikes, key=lambda one: one.at_s))
