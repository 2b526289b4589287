"""Everything that is to be told, and to whom."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from emulator.clock import Clock
from emulator.events.envelope import MESSAGES, Update, envelope
from emulator.events.schedule import DELIVERED, FAILED, READ, SENT, Status
from emulator.events.subscriber import Batch, Subscriber
from emulator.ledger import Call

if TYPE_CHECKING:
    from emulator.service import Service

# Statuses moved in one go, so that a jump of the clock does not stall the sends.
PUMP_LIMIT = 5_000
HALF_HOUR_S = 1800


class Events:
    """Everything that is to be told: what the schedule has due, and the subscribers."""

    def __init__(self, service: "Service", pack: Callable[[Status], Update]) -> None:
        self.subscribers: list[Subscriber] = []
        self._service = service
        self._pack = pack
        self._made = 0
        # places of messages that failed because their template was paused after acceptance
        self._stopped: set[int] = set()
        # (phone number id, half hour since 1970) -> delivered
        self._delivered: Counter[tuple[str, int]] = Counter()

    @property
    def clock(self) -> Clock:
        """The service's clock."""
        return self._service.clock

    def tell(self, update: Update) -> None:
        """Queue an event for everyone subscribed to its account and field."""
        for subscriber in self.subscribers:
            if subscriber.wants(update.account_id, update.field):
                subscriber.queue(update)

    def move_due(self) -> None:
        """Let happen what is due: reviews, and the statuses, bent by the faults of events."""
        service = self._service
        now_ns = service.clock.now_ns()
        service.reviewer.look(now_ns)
        due = [
            judged
            for status in service.schedule.due(now_ns, PUMP_LIMIT)
            if (judged := self._judge(status)) is not None
        ]
        for status in service.faults.bend(due, service.schedule, now_ns, self._number_at):
            number_id = self._number_at(status.place)
            if status.status == DELIVERED:
                self._delivered[number_id, service.clock.unix_s(status.due_ns) // HALF_HOUR_S] += 1
            account_id = service.numbers[number_id].account_id
            for subscriber in self.subscribers:
                if subscriber.wants(account_id, MESSAGES):
                    subscriber.queue(status)

    def _number_at(self, place: int) -> str:
        return self._service.ledger.call(place).number_id

    def _judge(self, status: Status) -> Status | None:
        """A message whose template was paused before it went out fails, and nothing follows."""
        if status.status == SENT:
            if self._paused(self._service.ledger.call(status.place)):
                self._stopped.add(status.place)
                return status._replace(status=FAILED, error_code=132015)
        elif status.place in self._stopped:
            if status.status == READ:
                self._stopped.discard(status.place)
            return None
        return status

    def _paused(self, call: Call) -> bool:
        if call.template is None:
            return False
        account = self._service.accounts[self._service.numbers[call.number_id].account_id]
        found = account.book.get(call.template, call.language or "")
        return found is not None and found.status in ("PAUSED", "DISABLED")

    def delivered_between(self, number_id: str, begin_s: int, end_s: int) -> int:
        """How many delivered statuses a number had, by half hours."""
        return sum(
            count
            for (number, half_hour), count in self._delivered.items()
            if number == number_id and begin_s <= half_hour * HALF_HOUR_S < end_s
        )

    def next_batch(self, subscriber: Subscriber) -> Batch | None:
        """What to POST next to a subscriber: a retry that is due, else what waits in its outbox."""
        now_ns = self._service.clock.now_ns()
        retry = subscriber.due_retry(now_ns)
        if retry is not None or not subscriber.may_pack:
            return retry
        updates = subscriber.take(self._service.config.events_per_post)
        self._made += 1
        body = envelope(self._packed(updates), self._service.config.product, self._displays())
        return Batch(now_ns, self._made, body, len(updates), 1, now_ns)

    def _displays(self) -> dict[str, str]:
        return {number.id: number.display_phone_number for number in self._service.numbers.values()}

    def _packed(self, updates: Iterable[Status | Update]) -> Iterable[Update]:
        return (self._pack(update) if isinstance(update, Status) else update for update in updates)

    def dump(self) -> dict[str, Any]:
        """What was told so far, for a snapshot."""
        delivered = [[*key, count] for key, count in self._delivered.items()]
        return {"stopped": sorted(self._stopped), "delivered": delivered}

    def load(self, state: dict[str, Any]) -> None:
        """The reverse of `dump`."""
        self._stopped = set(state["stopped"])
        self._delivered = Counter({(number, half_hour): n for number, half_hour, n in state["delivered"]})

    def summary(self) -> dict[str, object]:
        """Counts over all subscribers, and each of them."""
        records = [subscriber.record() for subscriber in self.subscribers]
        totals = {
            name: sum(record[name] for record in records)
            for name in ("pending", "delivered", "failed", "posts", "failed_posts")
        }
        totals["pending"] += len(self._service.schedule)
        totals["failed"] += self._service.schedule.dropped
        return {**totals, "scheduled": len(self._service.schedule), "subscribers": records}
