"""The table of kinds, and the faults in force."""

import random
from collections.abc import Callable, Container, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from emulator.clock import SECOND_NS, Clock
from emulator.config import ConfigError, FaultConfig
from emulator.events.schedule import Status, StatusSchedule
from emulator.faults import exchange as on_exchange
from emulator.faults import status as on_status
from emulator.faults.exchange import Exchange, ExchangeEffect, Stage
from emulator.faults.options import Options, number_of
from emulator.faults.status import Bend

FAULTS_LIMIT = 1_000

Effect = TypeVar("Effect")
# When and where any fault strikes, whatever its kind.
PLACES = ("number", "from_s", "until_s")
FOR_EVER_S = 1e9


class Kind(NamedTuple, Generic[Effect]):
    """How an effect is made, and which options it takes."""

    make: Callable[[Options], Effect]
    options: tuple[str, ...] = ()


_WAITS = ("status", "retry_after_s", "regain_minutes")
EXCHANGE_KINDS: dict[str, Kind[ExchangeEffect]] = {
    "lost-reply": Kind(lambda _: on_exchange.LostReply()),
    "reset-before-reading": Kind(lambda _: on_exchange.Reset(Stage.READ)),
    "reset-before-accepting": Kind(lambda _: on_exchange.Reset(Stage.ACCEPT)),
    "reset-after-accepting": Kind(lambda _: on_exchange.Reset(Stage.REPLY)),
    "server-error": Kind(on_exchange.server_error, ("status", "body", "accepted")),
    "latency": Kind(on_exchange.latency, ("median_ms", "sigma")),
    "slow-bytes": Kind(on_exchange.slow_bytes, ("chunk_bytes", "pause_ms")),
    "throttle-storm": Kind(on_exchange.throttle_storm, _WAITS),
    "refusal": Kind(on_exchange.refusal, ("code", *_WAITS)),
    "message-status": Kind(on_exchange.message_status, ("word",)),
    "quality-loss": Kind(on_exchange.quality_loss, ("rating",)),
}
STATUS_KINDS: dict[str, Kind[Bend]] = {
    "events-missing": Kind(lambda _: on_status.missing),
    "events-duplicate": Kind(lambda _: on_status.duplicate),
    "events-late": Kind(on_status.late, ("delay_s",)),
    "events-reordered": Kind(lambda _: on_status.reordered),
}


class Fault:
    """How often an effect strikes, how many times at most, at which number, and in which seconds."""

    def __init__(self, config: FaultConfig, chance: random.Random, now_ns: int) -> None:
        options = config.options
        self.config = config
        self.chance = chance
        self.left = config.count
        self.struck = 0
        number = options.get("number")
        self.number_id = None if number is None else str(number)
        from_s = number_of(options, "from_s", 0, 0, FOR_EVER_S)
        until_s = number_of(options, "until_s", FOR_EVER_S, 0, FOR_EVER_S)
        self._from_ns, self._until_ns = (now_ns + round(each * SECOND_NS) for each in (from_s, until_s))

    def strikes(self, number_id: str | None, now_ns: int) -> bool:
        """Whether it strikes this time; counts it if so."""
        if self.left == 0 or not self._from_ns <= now_ns < self._until_ns:
            return False
        if self.number_id is not None and self.number_id != number_id:
            return False
        if self.chance.random() >= self.config.probability:
            return False
        if self.left is not None:
            self.left -= 1
        self.struck += 1
        return True

    def remaining(self, now_ns: int) -> dict[str, Any]:
        """The fault as a configuration from now on, for a snapshot."""
        seconds = {
            name: max(0, at_ns - now_ns) / SECOND_NS
            for name, at_ns in (("from_s", self._from_ns), ("until_s", self._until_ns))
            if name in self.config.options
        }
        return {
            "kind": self.config.kind,
            "probability": self.config.probability,
            "count": self.left,
            "options": {**self.config.options, **seconds},
        }

    def record(self) -> dict[str, Any]:
        """The fault as the control plane shows it."""
        return {
            "kind": self.config.kind,
            "probability": self.config.probability,
            "count": self.config.count,
            **self.config.options,
            "left": self.left,
            "struck": self.struck,
        }


class Faults:
    """The faults in force, in the order they were set. `numbers`: ids of the numbers there are."""

    def __init__(self, seed: int, clock: Clock, numbers: Container[str]) -> None:
        self._seed = seed
        self._clock = clock
        self._numbers = numbers
        self._made = 0
        self._faults: list[Fault] = []
        # The send path looks at these alone, and skips everything when they are empty.
        self.of_exchange: list[tuple[Fault, ExchangeEffect]] = []
        self._of_status: list[tuple[Fault, Bend]] = []

    def __iter__(self) -> Iterator[Fault]:
        return iter(self._faults)

    def add(self, config: FaultConfig) -> None:
        """Put a fault in force; `ConfigError` for an unknown kind or an option that cannot be."""
        if len(self._faults) >= FAULTS_LIMIT:
            raise ConfigError(f"at most {FAULTS_LIMIT} faults")
        if (of_exchange := EXCHANGE_KINDS.get(config.kind)) is not None:
            fault, effect = self._made_of(config, of_exchange)
            self.of_exchange.append((fault, effect))
        elif (of_status := STATUS_KINDS.get(config.kind)) is not None:
            fault, bend = self._made_of(config, of_status)
            self._of_status.append((fault, bend))
        else:
            kinds = ", ".join([*EXCHANGE_KINDS, *STATUS_KINDS])
            raise ConfigError(f"a fault is one of {kinds}, not {config.kind!r}")
        self._made += 1
        self._faults.append(fault)

    def _made_of(self, config: FaultConfig, kind: Kind[Effect]) -> tuple[Fault, Effect]:
        known = (*kind.options, *PLACES)
        # A misspelt option would leave the fault at its default, and a test without the weather it asked for.
        if unknown := sorted(set(config.options) - set(known)):
            raise ConfigError(f"fault {config.kind} takes {', '.join(known)}, not {', '.join(unknown)}")
        number = config.options.get("number")
        if number is not None and str(number) not in self._numbers:
            raise ConfigError(f"fault {config.kind}: phone number {number} does not exist")
        chance = random.Random(f"{self._seed}/{self._made}/{config.kind}")  # noqa: S311  # seeded on purpose
        try:
            return Fault(config, chance, self._clock.now_ns()), kind.make(config.options)
        except ValueError as error:
            raise ConfigError(f"fault {config.kind}: {error}") from None

    def clear(self) -> None:
        """No faults any more."""
        self._faults.clear()
        self.of_exchange.clear()
        self._of_status.clear()

    def meet(self, stage: Stage, exchange: Exchange) -> None:
        """Let every fault of a stage meet an exchange."""
        now_ns = self._clock.now_ns()
        for fault, effect in self.of_exchange:
            if effect.stage is stage and fault.strikes(exchange.number_id, now_ns):
                effect.strike(exchange, fault.chance)

    def bend(
        self, due: list[Status], schedule: StatusSchedule, now_ns: int, number_at: Callable[[int], str]
    ) -> list[Status]:
        """What becomes of the statuses that are due; one that was late once is left alone.

        `number_at` tells through which number the message at a place of the ledger went.
        """
        for fault, bend in self._of_status:
            bent: list[Status] = []
            for place in range(len(due)):
                number_id = number_at(due[place].place) if fault.number_id else None
                if not due[place].bent and fault.strikes(number_id, now_ns):
                    bent += bend(due, place, schedule, fault.chance)
                else:
                    bent.append(due[place])
            due = bent
        return due
