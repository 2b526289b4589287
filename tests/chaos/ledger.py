"""The emulator's ledger, by which a run is judged: what the service accepted, and whether its events were taken."""

import asyncio
import time

from tests.chaos.control_plane import ControlPlane
from tests.chaos.message import Message

PERIOD_S = 0.05
SKIP_S = 60.0  # of the service's clock, once only late events are left to come


class ServiceLedger:
    """Reads the ledger, and sets the service's clock ahead while only late events are left."""

    def __init__(self, control: ControlPlane) -> None:
        self._control = control
        self._skips: list[tuple[float, float]] = [(0.0, 0.0)]  # from when on: seconds its clock is ahead

    async def length(self) -> int:
        """Messages accepted so far: where the ledger of a run begins."""
        return int((await self._control.get("ledger/summary"))["accepted"])

    async def since(self, after: int) -> list[Message]:
        """The messages accepted after the first `after`, in the order of acceptance."""
        offset_s = time.time() - time.monotonic()
        messages: list[Message] = []
        position: int | None = after
        while position is not None:
            page = await self._control.get(f"ledger?after={position}&limit=10000")
            messages += [
                Message(
                    entry["wamid"],
                    entry["phone_number_id"],
                    entry["tag"],
                    self._monotonic_s(entry["received_at_ns"] / 1e9) + offset_s,
                )
                for entry in page["messages"]
            ]
            position = page["next"] if page["messages"] else None
        return messages

    async def wait_for_events(self, timeout_s: float) -> bool:
        """Wait until the receiver took every event; delayed and repeated ones are hurried. False after `timeout_s`."""
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s:
            summary = await self._control.get("events/summary")
            if not summary["pending"]:
                return True
            waiting = sum(subscriber["waiting_retry"] for subscriber in summary["subscribers"])
            if summary["pending"] == waiting + summary["scheduled"]:
                await self._skip(2.0 if waiting else SKIP_S)
            await asyncio.sleep(PERIOD_S)
        return False

    async def _skip(self, seconds: float) -> None:
        """Set the service's clock ahead. `_monotonic_s` sets its later times back for the comparison with ours."""
        ahead_s = self._skips[-1][1]
        self._skips.append((time.monotonic() + ahead_s, ahead_s + seconds))
        await self._control.post("clock", {"seconds": seconds})

    def _monotonic_s(self, service_s: float) -> float:
        return service_s - next(ahead_s for from_s, ahead_s in reversed(self._skips) if service_s >= from_s)
