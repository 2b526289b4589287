"""The limits on how often a caller may make costly requests. Time is an argument, in seconds of a monotonic
clock.

A limit holds for one process: it keeps one caller from taking the console from the others. It is no quota.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network

KEYS_MAX = 10_000  # the oldest are forgotten: memory must not grow with the names that somebody invents


@dataclass(frozen=True, slots=True)
class Allowance:
    """A limit: `burst` requests at once, then one more every `refill_s`. `is_shared`: all callers
    share it.
    """

    name: str
    burst: int
    refill_s: float
    is_shared: bool = False


# An upload fills the disk, and its check takes a core for seconds.
UPLOADS = Allowance("upload", 20, 15.0)
# A check reads all rows of a list in a process of its own. A program repeats it until the check has ended.
LIST_CHECKS = Allowance("list-check", 20, 5.0)
# A test sends a message, which costs money and a part of the number's rate.
TEST_SENDS = Allowance("test-send", 20, 15.0)
# An export reads millions of rows.
EXPORTS = Allowance("export", 20, 10.0)
# A report and a plan read each recipient: seconds of a connection and of the database for ten million.
WHOLE_READINGS = Allowance("whole-reading", 20, 5.0)
# Only so many run at once, for all callers together: other requests need the rest of the pool.
WHOLE_READINGS_AT_ONCE = 2
# The service allows 200 management calls an hour to all processes: about half are left to the workers.
SERVICE_CALLS = Allowance("service-call", 10, 36.0, is_shared=True)
# A program with an old token tries it again and again; each try asks the database.
TOKEN_FAILURES = Allowance("token", 30, 1.0)

# Anybody may go to the provider to sign in, and each step asks the provider.
PROVIDER_SIGN_INS = Allowance("provider-sign-in", 30, 5.0)


class Buckets:
    """The requests that were spent of allowances, by key. A key is always used with the same allowance."""

    def __init__(self) -> None:
        self._spent: OrderedDict[str, tuple[float, float]] = (
            OrderedDict()
        )  # requests, and when that was right

    def wait_s(self, asked: Mapping[str, Allowance], now_s: float) -> float:
        """Return the seconds until all of the keys allow a request. If that is 0, count the request for each
        of them.
        """
        wait_s = self.look_s(asked, now_s)
        if not wait_s:
            self.spend(asked, now_s)
        return wait_s

    def look_s(self, asked: Mapping[str, Allowance], now_s: float) -> float:
        """Return the same seconds, without counting a request."""
        waits = (
            (self._level(key, each, now_s) - each.burst + 1) * each.refill_s for key, each in asked.items()
        )
        return max(0.0, *waits)

    def spend(self, asked: Mapping[str, Allowance], now_s: float) -> None:
        """Count a request for each of the keys."""
        for key, allowance in asked.items():
            self._set(key, self._level(key, allowance, now_s) + 1, now_s)

    def give_back(self, key: str, allowance: Allowance, now_s: float) -> None:
        """Forget one request of the key."""
        self._set(key, max(0.0, self._level(key, allowance, now_s) - 1), now_s)

    def forgive(self, key: str, now_s: float) -> None:
        """Forget the requests that the key spent."""
        self._set(key, 0.0, now_s)

    def __len__(self) -> int:
        return len(self._spent)

    def _level(self, key: str, allowance: Allowance, now_s: float) -> float:
        level, at_s = self._spent.get(key, (0.0, now_s))
        return max(0.0, level - (now_s - at_s) / allowance.refill_s)

    def _set(self, key: str, level: float, now_s: float) -> None:
        self._spent[key] = (level, now_s)
        self._spent.move_to_end(key)
        if len(self._spent) > KEYS_MAX:
            self._spent.popitem(last=False)


class RequestLimits:
    """The allowances of each caller, and those of all together."""

    def __init__(self) -> None:
        self._buckets = Buckets()

    def wait_s(self, allowance: Allowance, caller: str, now_s: float) -> float:
        """Return the seconds until the caller may make the request. If that is 0, count it."""
        key = allowance.name if allowance.is_shared else f"{allowance.name} {caller}"
        return self._buckets.wait_s({key: allowance}, now_s)


def network_of(address: str) -> str:
    """Return the network that an address counts for: the network of 64 bits for IPv6, else the address
    itself.

    One household has a network of 2^64 addresses.
    """
    try:
        found = ip_address(address)
    except ValueError:  # a proxy may send anything
        return address
    if not isinstance(found, IPv6Address) or found.ipv4_mapped is not None:
        return address
    return str(ip_network((found, 64), strict=False))
