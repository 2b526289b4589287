"""The emulator's control plane, as the bench needs it: faults, events, and the ledger that judges."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from tests.chaos.checks import Message
from tests.chaos.forgery import forgeries, headers

PERIOD_S = 0.05
SKIP_S = 60.0  # of the service's clock, once only late events are left to come
TEMPLATE, LANGUAGE = "order_shipped", "en_US"


class Service:
    """Talks to one running emulator."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.port = urlsplit(url).port or 80
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60))
        self._skips: list[tuple[float, float]] = [(0.0, 0.0)]  # from when on: seconds its clock is ahead

    async def close(self) -> None:
        await self._session.close()

    async def tell_callback(self, url: str) -> None:
        await self._post("callback", {"url": url})

    async def weather(self, faults: Sequence[Mapping[str, object]]) -> None:
        """These faults from now on, and no others."""
        async with self._session.delete(f"{self.url}/_emulator/faults") as reply:
            reply.raise_for_status()
        for fault in faults:
            await self._post("faults", fault)

    async def trouble(self, fault: Mapping[str, object], share: float, lasts_s: float) -> None:
        """One more fault, for a share of the requests, which ends by itself."""
        await self._post("faults", {**fault, "probability": share, "until_s": lasts_s})

    async def expire_token(self, value: str) -> None:
        await self._post("tokens", {"value": value, "expires_in_s": 0})

    async def issue_token(self, value: str) -> None:
        await self._post("tokens", {"value": value})

    async def set_template(self, status: str) -> None:
        await self._post(f"templates/{TEMPLATE}/status", {"status": status, "language": LANGUAGE})

    async def set_number(self, phone_number_id: str, status: str) -> None:
        await self._post("numbers", {"id": phone_number_id, "status": status})

    async def statuses(self, *, on: bool) -> None:
        await self._post("statuses", {"on": on})

    async def length(self) -> int:
        """Messages accepted so far: where the ledger of a run begins."""
        return int((await self._get("ledger/summary"))["accepted"])

    async def ledger(self, after: int) -> list[Message]:
        """What was accepted since, in the order of acceptance."""
        offset_s = time.time() - time.monotonic()
        messages: list[Message] = []
        position: int | None = after
        while position is not None:
            page = await self._get(f"ledger?after={position}&limit=10000")
            messages += [
                Message(
                    one["wamid"],
                    one["phone_number_id"],
                    one["tag"],
                    self._monotonic_s(one["received_at_ns"] / 1e9) + offset_s,
                )
                for one in page["messages"]
            ]
            position = page["next"] if page["messages"] else None
        return messages

    async def events_told(self, timeout_s: float) -> bool:
        """Wait until every event was taken; repeats that wait are hurried. False if that took too long."""
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s:
            summary = await self._get("events/summary")
            if not summary["pending"]:
                return True
            waiting = sum(one["waiting_retry"] for one in summary["subscribers"])
            if summary["pending"] == waiting + summary["scheduled"]:
                await self._skip(2.0 if waiting else SKIP_S)
            await asyncio.sleep(PERIOD_S)
        return False

    async def _skip(self, seconds: float) -> None:
        """Its clock jumps ahead; what it stamps from then on must be set back to be compared with ours."""
        ahead_s = self._skips[-1][1]
        self._skips.append((time.monotonic() + ahead_s, ahead_s + seconds))
        await self._post("clock", {"seconds": seconds})

    def _monotonic_s(self, stamped_s: float) -> float:
        return stamped_s - next(ahead_s for from_s, ahead_s in reversed(self._skips) if stamped_s >= from_s)

    async def forge_events(self, callback: str, messages: Sequence[Message], app_secret: str) -> list[str]:
        """Throw forged events at the receiver; what it should not have done with them."""
        found = []
        for what, body, signature in forgeries(messages, app_secret):
            async with self._session.post(callback, data=body, headers=headers(signature)) as reply:
                if (answer := (reply.status, await reply.read())) != (403, b""):
                    found.append(f"an event {what} was answered {answer}")
        return found

    async def _get(self, path: str) -> dict[str, Any]:
        async with self._session.get(f"{self.url}/_emulator/{path}") as reply:
            reply.raise_for_status()
            found: dict[str, Any] = await reply.json()
            return found

    async def _post(self, path: str, body: Mapping[str, object]) -> None:
        async with self._session.post(f"{self.url}/_emulator/{path}", json=body) as reply:
            reply.raise_for_status()
