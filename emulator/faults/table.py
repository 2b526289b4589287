"""The table of kinds, and the faults in force."""

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from emulator.clock import Clock
from emulator.config import ConfigError, FaultConfig
from emulator.events.schedule import Status, StatusSchedule
from emulator.faults import exchange as on_exchange
from emulator.faults import status as on_status
from emulator.faults.exchange import Exchange, ExchangeEffect, Stage
from emulator.faults.status import StatusEffect

SECOND_NS = 1_000_000_000
FAULTS_LIMIT = 1_000

Options = Mapping[str, Any]

EXCHANGE_KINDS: dict[str, Callable[[Options], ExchangeEffect]] = {
    "lost-reply": lambda _: on_exchange.LostReply(),
    "reset-before-reading": lambda _: on_exchange.Reset(Stage.READ),
    "reset-before-accepting": lambda _: on_exchange.Reset(Stage.ACCEPT),
    "reset-after-accepting": lambda _: on_exchange.Reset(Stage.REPLY),
    "server-error": on_exchange.server_error,
    "latency": on_exchange.latency,
    "slow-bytes": on_exchange.slow_bytes,
    "throttle-storm": lambda _: on_exchange.Refusal(130429),
    "refusal": lambda options: on_exchange.Refusal(int(options.get("code", 131016))),
    "quality-loss": lambda options: on_exchange.QualityLoss(str(options.get("rating", "RED"))),
}
STATUS_KINDS: dict[str, Callable[[Options], StatusEffect]] = {
    "events-missing": lambda _: on_status.Missing(),
    "events-duplicate": lambda _: on_status.Duplicate(),
    "events-late": lambda options: on_status.Late(float(options.get("delay_s", 5))),
    "events-reordered": lambda _: on_status.Reordered(),
}


class Fault:
    """An effect with how often it strikes, how many times at most, at which number, and in which seconds."""

    def __init__(
        self, config: FaultConfig, effect: ExchangeEffect | StatusEffect, chance: random.Random, now_ns: int
    ) -> None:
        options = config.options
        self.config = config
        self.effect = effect
        self.chance = chance
        self.left = config.count
        self.struck = 0
        self._number_id = options.get("number")
        self._from_ns = now_ns + round(float(options.get("from_s", 0)) * SECOND_NS)
        self._until_ns = now_ns + round(float(options.get("until_s", 1e9)) * SECOND_NS)

    def strikes(self, number_id: str | None, now_ns: int) -> bool:
        """Whether it strikes this time; counts it if so."""
        if self.left == 0 or not self._from_ns <= now_ns < self._until_ns:
            return False
        if self._number_id is not None and self._number_id != number_id:
            return False
        if self.chance.random() >= self.config.probability:
            return False
        if self.left is not None:
            self.left -= 1
        self.struck += 1
        return True

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
    """The faults in force, in the order they were set."""

    def __init__(self, seed: int, clock: Clock) -> None:
        self._seed = seed
        self._clock = clock
        self._made = 0
        self._faults: list[Fault] = []
        # The send path looks at these alone, and skips everything when they are empty.
        self.of_exchange: list[tuple[Fault, ExchangeEffect]] = []
        self._of_status: list[tuple[Fault, StatusEffect]] = []

    def __iter__(self) -> Iterator[Fault]:
        return iter(self._faults)

    def add(self, config: FaultConfig) -> Fault:
        """Put a fault in force; `ConfigError` for an unknown kind or an option that cannot be."""
        if len(self._faults) >= FAULTS_LIMIT:
            raise ConfigError(f"at most {FAULTS_LIMIT} faults")
        chance = random.Random(f"{self._seed}/{self._made}/{config.kind}")  # noqa: S311  # seeded on purpose
        now_ns = self._clock.now_ns()
        try:
            if config.kind in EXCHANGE_KINDS:
                effect = EXCHANGE_KINDS[config.kind](config.options)
                fault = Fault(config, effect, chance, now_ns)
                self.of_exchange.append((fault, effect))
            elif config.kind in STATUS_KINDS:
                bending = STATUS_KINDS[config.kind](config.options)
                fault = Fault(config, bending, chance, now_ns)
                self._of_status.append((fault, bending))
            else:
                kinds = ", ".join([*EXCHANGE_KINDS, *STATUS_KINDS])
                raise ConfigError(f"a fault is one of {kinds}, not {config.kind!r}")
        except (TypeError, ValueError) as error:
            raise ConfigError(f"fault {config.kind}: {error}") from None
        self._made += 1
        self._faults.append(fault)
        return fault

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

    def bend(self, due: list[Status], schedule: StatusSchedule, now_ns: int) -> list[Status]:
        """What becomes of the statuses that are due; one that was late once is left alone."""
        for fault, effect in self._of_status:
            bent: list[Status] = []
            for place in range(len(due)):
                if not due[place].bent and fault.strikes(None, now_ns):
                    bent += effect.bend(due, place, schedule, fault.chance)
                else:
                    bent.append(due[place])
            due = bent
        return due
