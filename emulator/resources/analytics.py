"""The analytics: messages sent and delivered by time, and conversations with their cost. They are counted
from the ledger on request.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from drumbeat.emulator.account import Account
from drumbeat.emulator.clock import SECOND_NS
from drumbeat.emulator.deliveries import HALF_HOUR_S
from drumbeat.emulator.errors import Refused
from drumbeat.emulator.messaging_service import MessagingService

_CALL = re.compile(r"(?<![\w.])(\w+)((?:\.\w+\([^)]*\))*)")
_ARGUMENT = re.compile(r"\.(\w+)\(([^)]*)\)")

GRANULARITIES_S = {
    "HALF_HOUR": 1800,
    "HALF_HOURLY": 1800,
    "DAY": 86_400,
    "DAILY": 86_400,
    "MONTH": 30 * 86_400,
    "MONTHLY": 30 * 86_400,
}
POINTS_LIMIT = 5_000
# The arguments that are served; for some, the values that one of the fields takes (open point).
_DIMENSIONS: dict[str, dict[str, set[str]]] = {
    **{argument: {} for argument in ("start", "end", "granularity", "phone_numbers")},
    "dimensions": {"analytics": set(), "conversation_analytics": {"CONVERSATION_CATEGORY"}},
}
# The cost of a conversation by category, in the account's currency: invented, but in a plausible relation.
COSTS = {"marketing": 0.0625, "utility": 0.0080, "authentication": 0.0315, "service": 0.0}


class Query(NamedTuple):
    """The time and the numbers to count: from `start_s` up to `end_s`, whole half hours, in steps of
    `step_s`. Without numbers, all are counted.
    """

    start_s: int
    end_s: int
    granularity: str
    step_s: int
    numbers: frozenset[str]


class Analytics:
    """The answers to the analytics fields of an account."""

    def __init__(self, service: MessagingService) -> None:
        self._service = service

    async def read(self, account: Account, fields: str) -> dict[str, Any]:
        """Return the members `analytics` and `conversation_analytics`, if `fields` asks for them.

        `Refused` (100) for another field of analytics: an answer of another kind would mislead.
        """
        answer: dict[str, Any] = {}
        for name, arguments in _CALL.findall(fields):
            if name == "analytics":
                await self._service.deliveries.catch_up()
                answer[name] = self._messages(account, self._query(account, name, arguments))
            elif name == "conversation_analytics":
                points = await self._conversations(account, self._query(account, name, arguments))
                answer[name] = {"data": [{"data_points": points}]}
            elif name.endswith("analytics"):
                raise Refused(100, f"{name} is not served; analytics and conversation_analytics are")
        return answer

    def _query(self, account: Account, name: str, arguments: str) -> Query:
        query = _read_query(name, arguments)
        known = {
            each
            for number in self._service.numbers.values()
            if number.account_id == account.id
            for each in (number.id, number.display_phone_number)
        }
        if strangers := sorted(query.numbers - known):
            raise Refused(100, f"{name}: the account has no phone number {', '.join(strangers)}")
        return query

    def _messages(self, account: Account, query: Query) -> dict[str, Any]:
        numbers = self._numbers(account, query)
        points = [
            {
                "start": begin_s,
                "end": end_s,
                "sent": sum(
                    self._service.ledger.count(number, *self._ns(begin_s, end_s)) for number in numbers
                ),
                "delivered": sum(
                    self._service.deliveries.between(number, begin_s, end_s) for number in numbers
                ),
            }
            for begin_s, end_s in _steps(query)
        ]
        return {
            "phone_numbers": [self._service.numbers[number].display_phone_number for number in numbers],
            "granularity": query.granularity,
            "data_points": points,
        }

    async def _conversations(self, account: Account, query: Query) -> list[dict[str, Any]]:
        """Return the conversations. One is all that goes to one recipient in one category within a day."""
        numbers = set(self._numbers(account, query))
        counts: Counter[tuple[int, str]] = Counter()
        open_until_ns: dict[tuple[int, str], int] = {}
        begin_ns, end_ns = self._ns(query.start_s, query.end_s)
        for messages in self._service.ledger.sent_between(begin_ns, end_ns):
            for kind, recipient, received_ns in messages:
                category = account.category(kind.template_key)
                if kind.number_id not in numbers or received_ns < open_until_ns.get((recipient, category), 0):
                    continue
                open_until_ns[recipient, category] = received_ns + 86_400 * SECOND_NS
                step = (self._service.clock.unix_s(received_ns) - query.start_s) // query.step_s
                counts[step, category] += 1
            await asyncio.sleep(0)
        return [
            {
                "start": query.start_s + step * query.step_s,
                "end": min(query.start_s + (step + 1) * query.step_s, query.end_s),
                "conversation": count,
                "conversation_category": category.upper(),
                "cost": round(count * COSTS[category], 4),
            }
            for (step, category), count in sorted(counts.items())
        ]

    def _numbers(self, account: Account, query: Query) -> list[str]:
        return [
            number.id
            for number in self._service.numbers.values()
            if number.account_id == account.id
            and (not query.numbers or query.numbers & {number.id, number.display_phone_number})
        ]

    def _ns(self, begin_s: int, end_s: int) -> tuple[int, int]:
        clock = self._service.clock
        return clock.at_unix_s(begin_s), clock.at_unix_s(end_s)


def _read_query(name: str, arguments: str) -> Query:
    given = dict(_ARGUMENT.findall(arguments))
    for argument, value in given.items():
        wanted = set(re.findall(r"\w+", value))
        # A filter that is ignored would give the figures of something else.
        if argument not in _DIMENSIONS or not wanted <= _DIMENSIONS[argument].get(name, wanted):
            raise Refused(100, f"{name}.{argument}({value}) is not served")
    granularity = given.get("granularity", "DAY")
    try:
        start_s, end_s = int(given["start"]), int(given["end"])
        step_s = GRANULARITIES_S[granularity]
    except (KeyError, ValueError):
        raise Refused(
            100, "analytics needs start(TS), end(TS) and granularity(HALF_HOUR|DAY|MONTH)"
        ) from None
    if not 0 <= start_s < end_s < 2**40 or (end_s - start_s) // step_s > POINTS_LIMIT:
        raise Refused(100, f"start is before end, with at most {POINTS_LIMIT} steps between them")
    numbers = re.findall(r"\d+", given.get("phone_numbers", ""))
    # Deliveries are counted by half hours, so every count covers whole ones.
    begin_s, until_s = start_s // HALF_HOUR_S * HALF_HOUR_S, -(-end_s // HALF_HOUR_S) * HALF_HOUR_S
    return Query(begin_s, until_s, granularity, step_s, frozenset(numbers))


def _steps(query: Query) -> Iterable[tuple[int, int]]:
    begins = range(query.start_s, query.end_s, query.step_s)
    return ((begin, min(begin + query.step_s, query.end_s)) for begin in begins)
