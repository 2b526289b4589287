"""The table of kinds, and the faults in force."""

import random
from collections.abc import Callable, Container, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from drumbeat.emulator.clock import SECOND_NS, Clock
from drumbeat.emulator.config import ConfigError, FaultConfig
from drumbeat.emulator.faults import exchange as on_exchange
from drumbeat.emulator.faults import happenings
from drumbeat.emulator.faults import status as on_status
from drumbeat.emulator.faults.exchange import Exchange, ExchangeEffect, ExchangeStage
from drumbeat.emulator.faults.options import Options, number_of
from drumbeat.emulator.faults.status import StatusEffect
from drumbeat.emulator.schedule import Marks, Status, StatusSchedule

FAULTS_LIMIT = 1_000

Effect = TypeVar("Effect")
# Options of every kind: when and for which number the fault occurs.
COMMON_OPTIONS = ("number", "from_s", "until_s")
FOR_EVER_S = 1e9


class FaultKind(NamedTuple, Generic[Effect]):
    """A kind of fault: the maker of its effect, and the options that it takes."""

    make: Callable[[Options], Effect]
    options: tuple[str, ...] = ()
    common: tuple[str, ...] = COMMON_OPTIONS


_WAITS = ("status", "retry_after_s", "regain_minutes")
EXCHANGE_KINDS: dict[str, FaultKind[ExchangeEffect]] = {
    "lost-reply": FaultKind(lambda _: on_exchange.LostReply()),
    "reset-before-reading": FaultKind(lambda _: on_exchange.Reset(ExchangeStage.READ)),
    "reset-before-accepting": FaultKind(lambda _: on_exchange.Reset(ExchangeStage.ACCEPT)),
    "reset-after-accepting": FaultKind(lambda _: on_exchange.Reset(ExchangeStage.REPLY)),
    "server-error": FaultKind(on_exchange.server_error, ("status", "body", "accepted")),
    "latency": FaultKind(on_exchange.latency, ("median_ms", "sigma")),
    "slow-bytes": FaultKind(on_exchange.slow_bytes, ("chunk_bytes", "pause_ms")),
    "throttle-storm": FaultKind(on_exchange.throttle_storm, _WAITS),
    "refusal": FaultKind(on_exchange.refusal, ("code", *_WAITS, "is_transient", "error_subcode")),
    "message-status": FaultKind(on_exchange.message_status, ("word",)),
    "failed-status": FaultKind(on_exchange.failed_status, ("code",)),
    "quality-loss": FaultKind(on_exchange.quality_loss, ("rating",)),
    "reply": FaultKind(happenings.reply, ("text", "type", "sender", "quote")),
    "preference": FaultKind(happenings.preference, ("value", "sender")),
    "number-change": FaultKind(happenings.number_change, ("to",)),
    "account-event": FaultKind(happenings.account_event, ("event", "account")),
    "account-review": FaultKind(happenings.account_review, ("decision", "account")),
    "template-event": FaultKind(happenings.template_event, ("event", "account")),
    "template-quality": FaultKind(happenings.template_quality, ("score",)),
    "template-category": FaultKind(happenings.template_category, ("category", "upcoming")),
    "tier-change": FaultKind(happenings.tier_change, ("word", "event")),
    "subscription-loss": FaultKind(happenings.subscription_loss),
}
STATUS_KINDS: dict[str, FaultKind[StatusEffect]] = {
    "events-missing": FaultKind(lambda _: on_status.missing),
    "events-duplicate": FaultKind(lambda _: on_status.duplicate),
    "events-late": FaultKind(on_status.late, ("delay_s",)),
    "events-reordered": FaultKind(lambda _: on_status.reordered),
    "events-with-plus": FaultKind(lambda _: on_status.marked(Marks.PLUS)),
    "events-by-user-id": FaultKind(lambda _: on_status.marked(Marks.USER_ID)),
    "events-unbilled": FaultKind(lambda _: on_status.marked(Marks.UNBILLED)),
    "events-of-another-account": FaultKind(lambda _: on_status.marked(Marks.ELSEWHERE)),
}
# A POST carries events of several numbers.
POST_KINDS: dict[str, FaultKind[str]] = {
    "events-packed": FaultKind(lambda _: "gzip", common=("from_s", "until_s")),
}


class Fault:
    """A fault in force: its probability, its largest number of occurrences, its number, and the seconds in
    which it may occur.
    """

    def __init__(self, config: FaultConfig, chance: random.Random, now_ns: int) -> None:
        options = config.options
        self.config = config
        self.chance = chance
        self.left = config.count
        self.occurred = 0
        number = options.get("number")
        self.number_id = None if number is None else str(number)
        from_s = number_of(options, "from_s", 0, 0, FOR_EVER_S)
        until_s = number_of(options, "until_s", FOR_EVER_S, 0, FOR_EVER_S)
        self._from_ns, self._until_ns = (now_ns + round(seconds * SECOND_NS) for seconds in (from_s, until_s))

    def occurs(self, number_id: str | None, now_ns: int) -> bool:
        """Return whether the fault occurs this time. If it does, count it."""
        if self.left == 0 or not self._from_ns <= now_ns < self._until_ns:
            return False
        if self.number_id is not None and self.number_id != number_id:
            return False
        if self.chance.random() >= self.config.probability:
            return False
        if self.left is not None:
            self.left -= 1
        self.occurred += 1
        return True

    def remaining(self, now_ns: int) -> dict[str, Any]:
        """Return the fault as a configuration from now on, for a snapshot."""
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
        """Return the fault as the control plane shows it."""
        return {
            "kind": self.config.kind,
            "probability": self.config.probability,
            "count": self.config.count,
            **self.config.options,
            "left": self.left,
            "occurred": self.occurred,
        }


class Faults:
    """The faults in force, in the order in which they were set. `numbers` are the ids of all numbers."""

    def __init__(self, seed: int, clock: Clock, numbers: Container[str]) -> None:
        self._seed = seed
        self._clock = clock
        self._numbers = numbers
        self._made = 0
        self._faults: list[Fault] = []
        # The send path looks at these only, and takes its fast way when there are none.
        self.of_exchange: list[tuple[Fault, ExchangeEffect]] = []
        self._of_status: list[tuple[Fault, StatusEffect]] = []
        self._of_post: list[tuple[Fault, str]] = []

    def __iter__(self) -> Iterator[Fault]:
        return iter(self._faults)

    def add(self, config: FaultConfig) -> None:
        """Put a fault in force. `ConfigError` for an unknown kind or an impossible option."""
        if len(self._faults) >= FAULTS_LIMIT:
            raise ConfigError(f"at most {FAULTS_LIMIT} faults")
        if (of_exchange := EXCHANGE_KINDS.get(config.kind)) is not None:
            fault, effect = self._made_of(config, of_exchange)
            self.of_exchange.append((fault, effect))
        elif (of_status := STATUS_KINDS.get(config.kind)) is not None:
            fault, status_effect = self._made_of(config, of_status)
            self._of_status.append((fault, status_effect))
        elif (of_post := POST_KINDS.get(config.kind)) is not None:
            fault, encoding = self._made_of(config, of_post)
            self._of_post.append((fault, encoding))
        else:
            kinds = ", ".join([*EXCHANGE_KINDS, *STATUS_KINDS, *POST_KINDS])
            raise ConfigError(f"a fault is one of {kinds}, not {config.kind!r}")
        self._made += 1
        self._faults.append(fault)

    def _made_of(self, config: FaultConfig, kind: FaultKind[Effect]) -> tuple[Fault, Effect]:
        known = (*kind.options, *kind.common)
        # With a misspelt option ignored, a test would run without the fault that it asked for.
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
        """Remove every fault."""
        self._faults.clear()
        self.of_exchange.clear()
        self._of_status.clear()
        self._of_post.clear()

    def apply(self, stage: ExchangeStage, exchange: Exchange) -> None:
        """Apply the faults of a stage to an exchange."""
        now_ns = self._clock.now_ns()
        for fault, effect in self.of_exchange:
            if effect.stage is stage and fault.occurs(exchange.number_id, now_ns):
                effect.apply(exchange, fault.chance)

    def encoding_of_post(self, now_ns: int) -> str | None:
        """Return the content encoding of the next body of events, or None for the plain one."""
        return next((encoding for fault, encoding in self._of_post if fault.occurs(None, now_ns)), None)

    def apply_to_statuses(
        self, due: list[Status], schedule: StatusSchedule, now_ns: int, number_of: Callable[[int], str]
    ) -> list[Status]:
        """Return the due statuses after the faults have changed them.

        `number_of` gives the number through which the message at an index of the ledger went.
        """
        for fault, effect in self._of_status:
            results: list[Status] = []
            for index in range(len(due)):
                number_id = number_of(due[index].message) if fault.number_id else None
                if not due[index].marks & Marks.DELAYED and fault.occurs(number_id, now_ns):
                    results += effect(due, index, schedule, fault.chance)
                else:
                    results.append(due[index])
            due = results
        return due
