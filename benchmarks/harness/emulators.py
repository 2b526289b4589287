"""The emulator of a measurement: one of its own, or a running one that has passed the check."""

from __future__ import annotations

import contextlib
import http.client
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import SecretStr

from drumbeat.benchmarks.harness.certificates import Certificate
from drumbeat.benchmarks.harness.control_plane import ControlPlane, prove_emulator
from drumbeat.benchmarks.harness.processes import listening
from drumbeat.engine.errors import Unreachable
from drumbeat.engine.process.settings import ServiceSettings

OWN_TOKEN = "emulator-token"
OWN_SECRET = "emulator-secret"
FIRST_NUMBER = 1_000
# Three events a message (sent, delivered, read), at a quarter of the usual delays: most come while it sends.
EVENT_OPTIONS = ("--status-delay", "0.25", "--read-ratio", "1")


@dataclass(frozen=True, slots=True)
class EmulatorSpec:
    """The properties of an emulator: `numbers` with this limit each. `jitter` is the sigma of the
    lognormal latency, `faults` are as on the emulator's command line. `events`: three a message, once a
    callback URL is set.
    """

    numbers: int
    rate_per_s: float
    latency_ms: float = 0.0
    jitter: float = 0.0
    faults: tuple[str, ...] = ()
    events: bool = False


def service_settings(url: str, token: str, version: str, product: str) -> ServiceSettings:
    """Return the settings of an engine that sends there."""
    return ServiceSettings(base_url=url, access_token=SecretStr(token), api_version=version, product=product)


@dataclass(frozen=True, slots=True)
class MeasuredEmulator:
    """An emulator that is ready for one measurement."""

    url: str
    token: str
    numbers: tuple[str, ...]
    version: str
    product: str
    control: ControlPlane

    @property
    def access(self) -> dict[str, str]:
        """Return the address and the access that a sender in another process needs."""
        return {"url": self.url, "token": self.token, "version": self.version, "product": self.product}

    def accepted(self) -> int:
        """Return the messages accepted so far, over all numbers."""
        return int(self.control.get("health")["accepted"])

    def cpu_s(self) -> float | None:
        """Return the CPU seconds of its process so far, or None if the emulator does not report them."""
        used = self.control.get("health").get("cpu_s")
        return None if used is None else float(used)

    def ledger(self) -> dict[str, dict[str, Any]]:
        """Return, for each number, accepted messages, errors and the largest sliding second."""
        numbers: dict[str, dict[str, Any]] = self.control.get("ledger/summary")["numbers"]
        return {number: numbers[number] for number in self.numbers}


class EmulatorFactory(Protocol):
    """A maker of the emulator of one measurement. It removes what it made afterwards."""

    def __call__(self, spec: EmulatorSpec) -> AbstractContextManager[MeasuredEmulator]: ...


@contextmanager
def own_emulator(spec: EmulatorSpec, certificate: Certificate | None = None) -> Iterator[MeasuredEmulator]:
    """Run an emulator on the service's core during the block. With a certificate, it speaks HTTPS."""
    ids = tuple(str(FIRST_NUMBER + n) for n in range(spec.numbers))
    arguments = [word for number in ids for word in ("--number", f"{number}:{spec.rate_per_s}")]
    arguments += ["--latency-ms", str(spec.latency_ms), "--jitter", str(spec.jitter)]
    arguments += [word for fault in spec.faults for word in ("--fault", fault)]
    arguments += EVENT_OPTIONS if spec.events else ["--no-statuses"]
    if certificate is not None:
        arguments += ["--tls-cert", str(certificate.chain), "--tls-key", str(certificate.key)]
    with listening("emulator", "serve", "--port", "0", *arguments) as running:
        control, health = prove_emulator(running.url)
        yield MeasuredEmulator(running.url, OWN_TOKEN, ids, health["version"], health["product"], control)


@dataclass(slots=True)
class RunningEmulator:
    """An emulator that someone else runs. Each measurement adds its own numbers and token.

    Status events are off during a measurement and restored afterwards.
    """

    url: str
    _first: int = field(default_factory=lambda: 10**14 + secrets.randbelow(8 * 10**14))

    def __post_init__(self) -> None:
        self.url = self.url.rstrip("/")
        prove_emulator(self.url)

    @contextmanager
    def __call__(self, spec: EmulatorSpec) -> Iterator[MeasuredEmulator]:
        control, health = prove_emulator(self.url)
        ids = tuple(str(self._first + n) for n in range(spec.numbers))
        self._first += spec.numbers
        token = secrets.token_urlsafe(16)
        try:
            statuses_on = bool(control.get("overview")["statuses_on"])
            for number in ids:
                control.post("numbers", {"id": number, "rate_per_s": spec.rate_per_s})
            control.post("tokens", {"value": token})
            control.post("statuses", {"on": False})
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unreachable(f"the emulator at {self.url} cannot be prepared: {error}") from error
        try:
            yield MeasuredEmulator(self.url, token, ids, health["version"], health["product"], control)
        finally:
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                control.post("statuses", {"on": statuses_on})
                control.post("tokens", {"value": token, "revoked": True})
