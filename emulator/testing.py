"""The emulator in the process of a test."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from drumbeat.emulator.config import EmulatorConfig
from drumbeat.emulator.gateway import Gateway
from drumbeat.emulator.messaging_service import MessagingService
from drumbeat.emulator.server import running
from drumbeat.http_server.server import Server


@dataclass(frozen=True, slots=True)
class Emulator:
    """A running emulator. Tests that look inside find its state in `service`, its connections in `server`."""

    url: str
    service: MessagingService
    server: Server[Gateway]


@contextlib.asynccontextmanager
async def running_emulator(config: EmulatorConfig | None = None) -> AsyncIterator[Emulator]:
    """Serve in this event loop until the block ends. Without a configuration, use any free port."""
    async with running(config or EmulatorConfig(port=0)) as (gateway, server):
        yield Emulator(gateway.service.base_url, gateway.service, server)
