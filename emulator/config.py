"""The options of the emulator, checked once at the start."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from drumbeat.emulator.tiers import UNLIMITED, limit_of

# The largest delay in milliseconds, in seconds and as a factor: a larger one is a mistake.
DELAY_LIMIT = 1e8
# Far beyond any service: at 5, one reply in a thousand takes five million times the median.
JITTER_LIMIT = 5.0
# Every JSON parser reads an integer up to this one exactly.
SEED_LIMIT = 2**53
QUOTA_SCOPES = ("number", "account")
_FAULT_MEMBERS = ("kind", "probability", "count")


class ConfigError(ValueError):
    """An invalid option. The message names it and says what is expected."""


@dataclass(frozen=True, slots=True)
class NumberConfig:
    """A phone number id, its rate (any positive number) and its messaging limit.

    `test_recipients` make it a test number.
    """

    id: str
    rate_per_s: float
    test_recipients: tuple[str, ...] | None = None
    tier: str = UNLIMITED

    def __post_init__(self) -> None:
        if not (self.id.isascii() and self.id.isdigit() and len(self.id) <= 20):
            raise ConfigError(f"a phone number id is up to 20 digits, not {self.id!r}")
        if not self.rate_per_s > 0 or math.isinf(self.rate_per_s):
            raise ConfigError(f"the rate of {self.id} is a positive number, not {self.rate_per_s}")
        try:
            limit_of(self.tier)
        except ValueError as error:
            raise ConfigError(f"number {self.id}: {error}") from None


@dataclass(frozen=True, slots=True)
class FaultConfig:
    """A fault: its kind, how often it occurs and how many times at most, and the options of the kind."""

    kind: str
    probability: float = 1.0
    count: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < self.probability <= 1:
            raise ConfigError(f"the probability of {self.kind} is above 0 and at most 1")
        if self.count is not None and self.count < 0:
            raise ConfigError(f"the count of {self.kind} is a number from 0 up, not {self.count}")


@dataclass(frozen=True, slots=True)
class EmulatorConfig:
    """The options of the emulator. `port` 0 is any free port. `status_delay` scales the delays of statuses: 1
    is realistic, 0 is at once.

    `latency_ms` is the median delay of the replies to a send, `jitter` the sigma of its lognormal spread (0:
    each takes the median). Ratios are shares of recipients, chosen by the seed: those who are not on the
    network (131026 at once), those whose message fails after acceptance (status `failed`), and those who
    read it. `quota_scope`: a messaging limit holds for each number, or for all numbers of an account
    together. `tls_cert` and `tls_key` are PEM files: with both, it is served by HTTPS alone.
    """

    host: str = "127.0.0.1"
    port: int = 8081
    numbers: tuple[NumberConfig, ...] = (
        NumberConfig("106540352242922", 80),
        NumberConfig("106540352242923", 1000),
    )
    token: str = "emulator-token"  # noqa: S105  # a default for a service that guards nothing
    app_secret: str = "emulator-secret"  # noqa: S105
    verify_token: str = "emulator-verify"  # noqa: S105
    waba: str = "102290129340398"
    app_id: str = "634974688087057"
    product: str = "chat"
    version: str = "v22.0"
    callback: str | None = None
    seed: int = 1
    latency_ms: float = 0.0
    jitter: float = 0.0
    faults: tuple[FaultConfig, ...] = ()
    statuses: bool = True
    status_delay: float = 1.0
    undeliverable_ratio: float = 0.0
    failed_ratio: float = 0.0
    read_ratio: float = 0.6
    event_retry_wait_s: float = 1.0
    events_per_post: int = 1_000
    management_calls_per_hour: int = 200
    quota_scope: str = QUOTA_SCOPES[0]
    review_delay_s: float = 60.0
    tls_cert: Path | None = None
    tls_key: Path | None = None

    def __post_init__(self) -> None:
        if len({number.id for number in self.numbers}) != len(self.numbers):
            raise ConfigError("each phone number id may be given once")
        if not self.product.isidentifier() or not self.product.isascii():
            raise ConfigError(f"the product's word is letters, digits and underscores, not {self.product!r}")
        self._check_numbers()
        if self.quota_scope not in QUOTA_SCOPES:
            raise ConfigError(f"quota_scope is one of {', '.join(QUOTA_SCOPES)}")
        if not 1 <= self.events_per_post <= 1_000:
            raise ConfigError("events_per_post is from 1 to 1000")
        if (self.tls_cert is None) is not (self.tls_key is None):
            raise ConfigError("tls_cert and tls_key go together: a certificate and its key")
        if self.callback is not None:
            check_callback(self.callback)
        if not self.token or "\n" in self.token or not self.token.isascii():
            raise ConfigError("the token is a text of ASCII characters")

    def _check_numbers(self) -> None:
        if abs(self.seed) > SEED_LIMIT:
            raise ConfigError(f"the seed is a number of at most {SEED_LIMIT}")
        for name in ("undeliverable_ratio", "failed_ratio", "read_ratio"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} is a share from 0 to 1")
        for name in ("status_delay", "latency_ms", "event_retry_wait_s", "review_delay_s"):
            # Unchecked, NaN would cause an error in the reply to a message that was already accepted.
            if not 0 <= getattr(self, name) <= DELAY_LIMIT:
                raise ConfigError(f"{name} is a number from 0 to {DELAY_LIMIT:g}")
        if not 0 <= self.jitter <= JITTER_LIMIT:
            raise ConfigError(f"the jitter is a number from 0 to {JITTER_LIMIT:g}")
        if self.jitter and not self.latency_ms:
            raise ConfigError("the jitter spreads the latency: give a latency above 0")


def check_callback(url: str) -> None:
    """Raise ConfigError for a URL that cannot be posted to."""
    try:
        address = urlsplit(url)
        usable = address.scheme in ("http", "https") and address.hostname and address.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isprintable() or " " in url:
        raise ConfigError(f"a callback is an address such as http://127.0.0.1:8080/webhook, not {url!r}")


def parse_number(text: str) -> NumberConfig:
    """Return a number from `PNID[:RATE[:TIER]]`, as the command line takes it."""
    number_id, colon, rest = text.partition(":")
    rate, _, tier = rest.partition(":")
    try:
        return NumberConfig(number_id, float(rate if colon else "80"), tier=tier or UNLIMITED)
    except ValueError as error:
        raise ConfigError(
            f"--number is PNID:RATE or PNID:RATE:TIER, such as 106540352242922:80; {text!r}: {error}"
        ) from None


def fault_config(content: Any) -> FaultConfig:
    """Return a fault from a mapping with `kind`, `probability`, `count` and the options of the kind."""
    if not isinstance(content, Mapping) or not isinstance(content.get("kind"), str):
        raise ConfigError("a fault is a table with a kind")
    options = {name: value for name, value in content.items() if name not in _FAULT_MEMBERS}
    probability, count = content.get("probability", 1.0), content.get("count")
    if (
        not isinstance(probability, int | float)
        or not isinstance(count, int | None)
        or isinstance(probability, bool)
        or isinstance(count, bool)
    ):
        raise ConfigError(f"fault {content['kind']}: probability is a number, count a whole one")
    return FaultConfig(content["kind"], float(probability), count, options)


def parse_fault(text: str) -> FaultConfig:
    """Return a fault from `KIND[:PROBABILITY][,key=value…]`, as the command line takes it, such as
    `lost-reply:0.01,count=5`.
    """
    head, *pairs = text.split(",")
    kind, _, probability = head.partition(":")
    options = dict(pair.partition("=")[::2] for pair in pairs)
    try:
        count = options.pop("count", None)
        return FaultConfig(kind, float(probability or "1"), int(count) if count else None, options)
    except ValueError as error:
        raise ConfigError(f"--fault is KIND:PROBABILITY[,key=value]; {text!r}: {error}") from None
