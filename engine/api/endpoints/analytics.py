"""The analytics of an account by time: messages sent and delivered, and the cost of conversations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from drumbeat.engine.api.caller import Caller
from drumbeat.engine.api.fields import number_of, object_of, objects_of, text_of
from drumbeat.engine.errors import UsageError


class Granularity(StrEnum):
    """The length of a step. Conversations call a day DAILY and a month MONTHLY (open point)."""

    HALF_HOUR = "HALF_HOUR"
    DAY = "DAY"
    MONTH = "MONTH"


_OF_CONVERSATIONS = {Granularity.DAY: "DAILY", Granularity.MONTH: "MONTHLY"}


@dataclass(frozen=True, slots=True)
class MessagePoint:
    """The messages of one step."""

    start: datetime
    end: datetime
    sent: int
    delivered: int


@dataclass(frozen=True, slots=True)
class ConversationPoint:
    """The conversations of one step. `cost`: in the account's currency. `category`: empty
    if there is none.
    """

    start: datetime
    end: datetime
    conversations: int
    cost: float
    category: str


class Analytics:
    """The rows `GET /{account}?fields=analytics…`. Times need an offset. No numbers: all of the account."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def messages(
        self,
        waba_id: str,
        start: datetime,
        end: datetime,
        granularity: Granularity = Granularity.DAY,
        phone_numbers: Sequence[str] = (),
    ) -> list[MessagePoint]:
        """Return the messages sent and delivered from `start` to `end`, by step."""
        counted = await self._read(waba_id, "analytics", start, end, granularity, phone_numbers)
        return [
            MessagePoint(*_span(point), int(number_of(point, "sent")), int(number_of(point, "delivered")))
            for point in objects_of(counted, "data_points")
        ]

    async def conversations(
        self,
        waba_id: str,
        start: datetime,
        end: datetime,
        granularity: Granularity = Granularity.DAY,
        phone_numbers: Sequence[str] = (),
    ) -> list[ConversationPoint]:
        """Return the conversations and their cost from `start` to `end`, by step."""
        step = _OF_CONVERSATIONS.get(granularity, granularity)
        counted = await self._read(waba_id, "conversation_analytics", start, end, step, phone_numbers)
        groups = objects_of(counted, "data")
        return [_conversations(point) for group in groups for point in objects_of(group, "data_points")]

    async def _read(
        self, waba_id: str, kind: str, start: datetime, end: datetime, step: str, phone_numbers: Sequence[str]
    ) -> Mapping[str, Any]:
        fields = _fields(kind, start, end, step, phone_numbers)
        return object_of(await self._caller.manage("GET", waba_id, query={"fields": fields}), kind)


def _fields(kind: str, start: datetime, end: datetime, step: str, phone_numbers: Sequence[str]) -> str:
    if start >= end:
        raise UsageError("the start must be before the end")
    if not all(number.isascii() and number.isdecimal() for number in phone_numbers):
        raise UsageError("a number is named by its digits")
    span = f"start({int(start.timestamp())}).end({int(end.timestamp())})"
    return f"{kind}.{span}.granularity({step}).phone_numbers([{','.join(phone_numbers)}])"


def _conversations(point: Mapping[str, Any]) -> ConversationPoint:
    count, cost = int(number_of(point, "conversation")), number_of(point, "cost")
    return ConversationPoint(*_span(point), count, cost, text_of(point, "conversation_category"))


def _span(point: Mapping[str, Any]) -> tuple[datetime, datetime]:
    start, end = (datetime.fromtimestamp(number_of(point, name), UTC) for name in ("start", "end"))
    return start, end
