"""The service of a bench: an emulator of its own, or a running one that has shown what it is."""

from __future__ import annotations

import contextlib
import http.client
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import SecretStr

from campaigns.bench.control import Control, prove_emulator
from campaigns.bench.processes import listening
from engine.errors import Unreachable
from engine.process.settings import ServiceSettings

OWN_TOKEN = "emulator-token"  # noqa: S105 - the emulator's default
OWN_SECRET = "emulator-secret"  # noqa: S105
FIRST_NUMBER = 1_000
# Three events a message (sent, delivered, read), a quarter of their usual delays: most come while it sends.
EVENTS = ("--status-delay", "0.25", "--read-ratio", "1")


@dataclass(frozen=True, slots=True)
class Wanted:
    """So many numbers, each with this limit; `events`: three a message, once it is told where they go."""

    numbers: int
    rate_per_s: float
    latency_ms: float = 0.0
    events: bool = False


@dataclass(frozen=True, slots=True)
class Service:
    """An emulator that is ready for one measurement."""

    url: str
    token: str
    numbers: tuple[str, ...]
    version: str
    product: str
    control: Control

    @property
    def settings(self) -> ServiceSettings:
        return ServiceSettings(
            base_url=self.url,
            access_token=SecretStr(self.token),
            api_version=self.version,
            product=self.product,
        )

    def accepted(self) -> int:
        """Messages that it accepted so far, over all numbers."""
        return int(self.control.get("health")["accepted"])

    def cpu_s(self) -> float | None:
        """CPU seconds that its process took so far; None where it does not tell."""
        taken = self.control.get("health").get("cpu_s")
        return None if taken is None else float(taken)

    def ledger(self) -> dict[str, dict[str, Any]]:
        """By number: accepted, errors, the largest sliding second."""
        numbers: dict[str, dict[str, Any]] = self.control.get("ledger/summary")["numbers"]
        return {number: numbers[number] for number in self.numbers}


class Provider(Protocol):
    """Makes the service of one measurement, and ends it."""

    def __call__(self, wanted: Wanted) -> AbstractContextManager[Service]: ...


@contextmanager
def own_service(wanted: Wanted) -> Iterator[Service]:
    """An emulator as a process on the service's core; it is gone afterwards, ledger and all."""
    ids = tuple(str(FIRST_NUMBER + n) for n in range(wanted.numbers))
    words = [word for number in ids for word in ("--number", f"{number}:{wanted.rate_per_s}")]
    words += ["--latency-ms", str(wanted.latency_ms)]
    words += EVENTS if wanted.events else ["--no-statuses"]
    with listening("emulator", "serve", "--port", "0", *words) as running:
        control, health = prove_emulator(running.url)
        yield Service(running.url, OWN_TOKEN, ids, health["version"], health["product"], control)


@dataclass(slots=True)
class StandingService:
    """An emulator that somebody else runs. It gets numbers and a token of the bench's own.

    Its statuses are off while a measurement runs, and as they were afterwards.
    """

    url: str
    _first: int = field(default_factory=lambda: 10**14 + secrets.randbelow(8 * 10**14))

    def __post_init__(self) -> None:
        self.url = self.url.rstrip("/")
        prove_emulator(self.url)

    @contextmanager
    def __call__(self, wanted: Wanted) -> Iterator[Service]:
        control, health = prove_emulator(self.url)
        ids = tuple(str(self._first + n) for n in range(wanted.numbers))
        self._first += wanted.numbers
        token = secrets.token_urlsafe(16)
        try:
            statuses_on = bool(control.get("overview")["statuses_on"])
            for number in ids:
                control.post("numbers", {"id": number, "rate_per_s": wanted.rate_per_s})
            control.post("tokens", {"value": token})
            control.post("statuses", {"on": False})
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unreachable(f"the emulator at {self.url} cannot be prepared: {error}") from error
        try:
            yield Service(self.url, token, ids, health["version"], health["product"], control)
        finally:
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                control.post("statuses", {"on": statuses_on})
                control.post("tokens", {"value": token, "revoked": True})
