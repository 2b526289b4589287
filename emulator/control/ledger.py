"""The endpoints that read the ledger and the counters."""

from collections.abc import Iterator

import orjson

from drumbeat.emulator.clock import SECOND_NS
from drumbeat.emulator.control.fields import whole_number
from drumbeat.emulator.messaging_service import MessagingService
from drumbeat.emulator.wire.request_reply import Reply, Request, StreamReply, json_reply

DEFAULT_LIMIT = 1_000
LARGEST_LIMIT = 10_000
# Messages in one chunk of a stream: the event loop waits some milliseconds for it.
STREAM_STEP = 250


class LedgerControl:
    """The endpoints `GET /_emulator/ledger` and `/_emulator/ledger/summary`."""

    def __init__(self, service: MessagingService) -> None:
        self._service = service

    def messages(self, request: Request) -> Reply | StreamReply:
        """Return the messages from index `after` on. `format=ndjson` streams all of them, one a line."""
        ledger = self._service.ledger
        after = whole_number(request.query, "after", 0)
        if request.query.get("format") == "ndjson":
            return StreamReply(self._lines(after, len(ledger)), "application/x-ndjson")
        limit = min(whole_number(request.query, "limit", DEFAULT_LIMIT), LARGEST_LIMIT)
        messages = list(ledger.rows(after, limit))
        following = after + len(messages)
        return json_reply({"messages": messages, "next": following if following < len(ledger) else None})

    def _lines(self, after: int, end: int) -> Iterator[bytes]:
        """Yield the messages that are in the ledger when the stream begins. A reset ends it early."""
        ledger = self._service.ledger
        for begin in range(after, end, STREAM_STEP):
            rows = ledger.rows(begin, min(STREAM_STEP, end - begin))
            yield b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)

    def summary(self, _request: Request) -> Reply:
        """Return counts per number. `largest_window` is the largest count in any sliding window of the
        number.
        """
        service = self._service
        numbers = {
            number.id: {
                "accepted": number.accepted,
                "errors": {str(code): count for code, count in sorted(number.errors.items())},
                "rate_per_s": number.window.rate_per_s,
                "window_s": number.window.window_ns / SECOND_NS,
                "largest_window": number.window.largest_count,
                "in_window": number.window.in_window(service.clock.now_ns()),
            }
            for number in service.numbers.values()
        }
        errors = {str(code): count for code, count in sorted(service.errors.items())}
        return json_reply({"accepted": len(service.ledger), "numbers": numbers, "errors": errors})
