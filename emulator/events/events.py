"""The events: statuses that are due and other updates, queued for the subscribers."""

from collections.abc import Mapping
from typing import Any

from drumbeat.emulator.account import Account
from drumbeat.emulator.clock import Clock
from drumbeat.emulator.deliveries import Deliveries
from drumbeat.emulator.events.envelope import MESSAGES, Update
from drumbeat.emulator.events.subscriber import ALL_FIELDS, Subscriber
from drumbeat.emulator.faults.table import Faults
from drumbeat.emulator.identity import Number
from drumbeat.emulator.ledger.kinds import MessageKind
from drumbeat.emulator.ledger.ledger import Ledger
from drumbeat.emulator.schedule import DELIVERED, FAILED, READ, SENT, Status, StatusSchedule

# Statuses moved at once, so that a jump of the clock does not stall the sends.
PUMP_LIMIT = 5_000


class Events:
    """The part that moves due statuses from the schedule to the subscribers."""

    def __init__(
        self,
        clock: Clock,
        ledger: Ledger,
        schedule: StatusSchedule,
        deliveries: Deliveries,
        faults: Faults,
        numbers: Mapping[str, Number],
        accounts: Mapping[str, Account],
    ) -> None:
        self._clock = clock
        self.subscribers: list[Subscriber] = []
        self._ledger = ledger
        self._schedule = schedule
        self._deliveries = deliveries
        self._faults = faults
        self._numbers = numbers
        self._accounts = accounts
        # indexes of messages that failed because their template was paused after acceptance
        self._stopped: set[int] = set()

    def announce(self, update: Update) -> None:
        """Queue an event for every subscriber of its account and field. An account or a field that the
        service does not know is for every subscriber.
        """
        for subscriber in self.subscribers:
            is_known = update.account_id in self._accounts and update.field in ALL_FIELDS
            if not is_known or subscriber.wants(update.account_id, update.field):
                subscriber.queue(update)

    def move_due(self) -> None:
        """Queue the statuses whose time has come, changed by the faults of events."""
        now_ns = self._clock.now_ns()
        due = [
            checked
            for status in self._schedule.due(now_ns, PUMP_LIMIT)
            if (checked := self._check_template(status)) is not None
        ]
        for status in self._faults.apply_to_statuses(due, self._schedule, now_ns, self._number_of):
            number_id = self._number_of(status.message)
            if status.status == DELIVERED:
                self._deliveries.count(number_id, status.due_ns)
            account_id = self._numbers[number_id].account_id
            for subscriber in self.subscribers:
                if subscriber.wants(account_id, MESSAGES):
                    subscriber.queue(status)

    def _number_of(self, index: int) -> str:
        return self._ledger.kind(index).number_id

    def _check_template(self, status: Status) -> Status | None:
        """Return the status to send. If its template was paused before the message went out, that is a failed
        one instead of `sent`, and None for every later one.
        """
        if status.status == SENT:
            if self._is_paused(self._ledger.kind(status.message)):
                self._stopped.add(status.message)
                return status._replace(status=FAILED, error_code=132015)
        elif status.message in self._stopped:
            if status.status == READ:
                self._stopped.discard(status.message)
            return None
        return status

    def _is_paused(self, kind: MessageKind) -> bool:
        if kind.template_key is None:
            return False
        account = self._accounts[self._numbers[kind.number_id].account_id]
        found = account.book.get(*kind.template_key)
        return found is not None and found.status in ("PAUSED", "DISABLED")

    def dump(self) -> dict[str, Any]:
        """Return the stopped messages, for a snapshot."""
        return {"stopped": sorted(self._stopped)}

    def load(self, state: dict[str, Any]) -> None:
        """Restore a dumped state."""
        self._stopped = set(state["stopped"])

    def summary(self) -> dict[str, Any]:
        """Return the counts over all subscribers, and each of them."""
        records = [subscriber.record() for subscriber in self.subscribers]
        totals = {
            name: sum(record[name] for record in records)
            for name in ("pending", "delivered", "failed", "posts", "failed_posts")
        }
        totals["pending"] += len(self._schedule)
        totals["failed"] += self._schedule.dropped
        return {**totals, "scheduled": len(self._schedule), "subscribers": records}
