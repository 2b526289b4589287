"""The emulator inside another process: for tests and for the demo."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from emulator.config import EmulatorConfig
from emulator.gateway import Gateway
from emulator.server import running
from emulator.service import Service


@dataclass(frozen=True, slots=True)
class Emulator:
    """A running emulator. `service` is its state and `gateway` its doors, for tests that look inside."""

    url: str
    service: Service
    gateway: Gateway


@contextlib.asynccontextmanager
async def running_emulator(config: EmulatorConfig | None = None) -> AsyncIterator[Emulator]:
    """Serve in this event loop until the block ends; without a configuration on any free port."""
    async with running(config or EmulatorConfig(port=0)) as gateway:
        yield Emulator(gateway.service.base_url, gateway.service, gateway)
