"""The person during a run: sees why a campaign paused, mends the cause at the service, and resumes it."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from drumbeat.engine.store.database import Connection
from tests.chaos import store
from tests.chaos.installation import DATABASE_AWAY, NUMBER, POLL_PERIOD_S, Installation
from tests.chaos.schedule import Planned, Strike

PAUSE_S_MAX = 30.0  # until a fault that lasts has paused the campaign, and until it is mended

# What the reason of the pause says, and what was done to the service.
REASONS = {
    "(190)": Strike.EXPIRE_TOKEN,
    "(132015)": Strike.PAUSE_TEMPLATE,
    "was paused by the service": Strike.PAUSE_TEMPLATE,
    "(133010)": Strike.STOP_NUMBER,
}


class Operator:
    """Watches one campaign. `reasons`: of every pause. `unexpected`: pauses that no planned fault explains."""

    def __init__(self, installation: Installation, campaign_id: int, name: str) -> None:
        self._installation = installation
        self._campaign_id = campaign_id
        self._name = name
        self._broken: set[Strike] = set()
        self.reasons: list[str] = []
        self.unexpected: list[str] = []

    async def break_and_wait(self, planned: Planned) -> None:
        """Break something at the service; returns when the campaign paused for it and was mended."""
        strike = planned.strike
        self._broken.add(strike)
        await self._break(strike)
        deadline_s = time.monotonic() + PAUSE_S_MAX
        while strike in self._broken:
            if time.monotonic() > deadline_s:
                self.unexpected.append(f"{strike}: the campaign did not pause within {PAUSE_S_MAX:.0f} s")
                await self._mend(strike)
                return
            await asyncio.sleep(POLL_PERIOD_S)

    async def watch(self) -> None:
        """Mend and resume whenever the campaign is paused, until cancelled."""
        connection: Connection | None = None
        try:
            while True:
                try:
                    connection = connection or await self._installation.connect()
                    state, reason, _ = await store.progress(connection, self._campaign_id)
                    if state == "paused":
                        await self._help(reason)
                except DATABASE_AWAY:
                    connection = None
                await asyncio.sleep(POLL_PERIOD_S)
        finally:
            if connection is not None:
                connection.terminate()

    async def _help(self, reason: str) -> None:
        self.reasons.append(reason)
        strike = next((cause for words, cause in REASONS.items() if words in reason), None)
        if strike is None:
            self.unexpected.append(f"paused for no planned fault: {reason}")
        elif strike in self._broken:
            await self._mend(strike)
        if strike is Strike.STOP_NUMBER and await self._installation.command("numbers", "resume", NUMBER):
            self.unexpected.append("numbers resume failed")
        code = await self._installation.command("campaign", "resume", self._name)
        if code:
            self.unexpected.append(f"campaign resume ended with {code}")

    async def _break(self, strike: Strike) -> None:
        service = self._installation.service
        match strike:
            case Strike.EXPIRE_TOKEN:
                await service.expire_token(self._installation.token)
            case Strike.PAUSE_TEMPLATE:
                await service.set_template("PAUSED")
            case Strike.STOP_NUMBER:
                await service.set_number(NUMBER, "DISCONNECTED")

    async def _mend(self, strike: Strike) -> None:
        service = self._installation.service
        mend: dict[Strike, Callable[[], Awaitable[None]]] = {
            Strike.EXPIRE_TOKEN: self._installation.replace_token,
            Strike.PAUSE_TEMPLATE: lambda: service.set_template("APPROVED"),
            Strike.STOP_NUMBER: lambda: service.set_number(NUMBER, "CONNECTED"),
        }
        await mend[strike]()
        self._broken.discard(strike)
