"""The emulated service and the receiver, as an application's tests see them."""

import asyncio
import json
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from pydantic import SecretStr

from drumbeat.engine.store.database import open_pool
from drumbeat.engine.store.installation import identify
from drumbeat.engine.webhooks.receiver import Secrets
from drumbeat.engine.webhooks.reconciler import Intervals
from drumbeat.engine.webhooks.server import serve

CONTROL_S_MAX = 30.0
PAGE = 10_000
RECEIVER_CONNECTIONS = 8  # as many as the receiver of production has
SOON = Intervals(gather_s=0.0, apply_s=0.05, act_s=0.05, settle_s=0.05, policy_s=0.1)


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message that the service accepted. `phone` is in digits of E.164; `raw` is the whole entry."""

    wamid: str
    phone: str
    phone_number_id: str
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EmulatedService:
    """The service, emulated. `url` is its address; `control` reaches all of its control plane."""

    url: str

    @property
    def messages(self) -> list[SentMessage]:
        """Return every message that the service accepted, in the order of acceptance."""
        found: list[SentMessage] = []
        after: int | None = 0
        while after is not None:
            page = self.control("GET", f"ledger?after={after}&limit={PAGE}")
            found += [
                SentMessage(entry["wamid"], entry["to"], entry["phone_number_id"], entry)
                for entry in page["messages"]
            ]
            after = page["next"] if page["messages"] else None
        return found

    def reply(self, phone: str, text: str, *, number: str) -> None:
        """Let a person write a text to one of the numbers, such as STOP."""
        self.control("POST", "incoming", {"from": phone, "phone_number_id": number, "text": text})

    def fault(self, kind: str, **options: Any) -> None:
        """Add a fault, such as `refusal` with `code=131049` and `count=1`."""
        self.control("POST", "faults", {"kind": kind, **options})

    def control(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Call the control plane, and return its answer. Raise urllib's HTTPError if it refuses."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310 - the emulator's own address
            f"{self.url}/_emulator/{path}", data, {"Content-Type": "application/json"}, method=method
        )
        with urllib.request.urlopen(request, timeout=CONTROL_S_MAX) as answer:  # noqa: S310
            content = answer.read()
        return json.loads(content) if content else None


@dataclass(frozen=True, slots=True)
class ServiceClock:
    """The clock of the emulated service: reviews, rests and delayed events become due when it advances.

    Drumbeat's own times are the database's, and do not move with it.
    """

    service: EmulatedService

    def advance(self, seconds: float) -> None:
        """Move the service's clock ahead."""
        self.service.control("POST", "clock", {"seconds": seconds})


@asynccontextmanager
async def receiving(database_url: str, secrets: Mapping[str, str], product: str) -> AsyncIterator[str]:
    """Receive and apply the service's events until the block ends; give the callback's URL."""
    stop, listening = asyncio.Event(), asyncio.get_running_loop().create_future()
    keys = Secrets(SecretStr(secrets["app_secret"]), SecretStr(secrets["verify_token"]))
    async with open_pool(database_url, size=RECEIVER_CONNECTIONS, by_key=True, greet=identify) as pool:
        serving = asyncio.create_task(
            serve(
                pool,
                keys,
                product,
                host="127.0.0.1",
                port=0,
                stop=stop,
                on_listening=listening.set_result,
                intervals=SOON,
            )
        )
        try:
            await asyncio.wait({serving, listening}, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                await serving
            yield listening.result()
        finally:
            stop.set()
            await serving
