"""The emulated service of a bench: its faults, tokens, templates and numbers; its ledger judges."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from tests.chaos.control_plane import ControlPlane
from tests.chaos.forgery import forgeries, headers
from tests.chaos.ledger import ServiceLedger
from tests.chaos.message import Message

TEMPLATE, LANGUAGE = "order_shipped", "en_US"


class Service:
    """Talks to one running emulator."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.port = urlsplit(url).port or 80
        self._control = ControlPlane(url)
        self.ledger = ServiceLedger(self._control)

    async def close(self) -> None:
        await self._control.close()

    async def set_callback(self, url: str) -> None:
        await self._control.post("callback", {"url": url})

    async def weather(self, faults: Sequence[Mapping[str, object]]) -> None:
        """These faults from now on, and no others."""
        await self._control.delete("faults")
        for fault in faults:
            await self._control.post("faults", fault)

    async def start_fault(self, fault: Mapping[str, object], share: float, lasts_s: float) -> None:
        """One more fault, for a share of the requests, which ends by itself."""
        await self._control.post("faults", {**fault, "probability": share, "until_s": lasts_s})

    async def expire_token(self, value: str) -> None:
        await self._control.post("tokens", {"value": value, "expires_in_s": 0})

    async def issue_token(self, value: str) -> None:
        await self._control.post("tokens", {"value": value})

    async def set_template(self, status: str) -> None:
        await self._control.post(f"templates/{TEMPLATE}/status", {"status": status, "language": LANGUAGE})

    async def set_number(self, phone_number_id: str, status: str) -> None:
        await self._control.post("numbers", {"id": phone_number_id, "status": status})

    async def statuses(self, *, on: bool) -> None:
        await self._control.post("statuses", {"on": on})

    async def forge_events(self, callback: str, messages: Sequence[Message], app_secret: str) -> list[str]:
        """Send forged events to the receiver. Returns its wrong answers."""
        found = []
        for what, body, signature in forgeries(messages, app_secret):
            async with self._control.session.post(callback, data=body, headers=headers(signature)) as reply:
                if (answer := (reply.status, await reply.read())) != (403, b""):
                    found.append(f"an event {what} was answered {answer}")
        return found
