"""How often somebody may try to sign in. Time is an argument, in seconds of a monotonic clock.

Law: a name and an address are limited each on their own. A limit of names alone would let anybody lock a user
out from everywhere; a limit of addresses alone would not slow down a guess from many addresses.
"""

from collections import OrderedDict

# A person mistypes a password a few times. A guess of a weak one takes thousands of attempts.
NAME_ATTEMPTS = 10
ADDRESS_ATTEMPTS = 30  # an office may share an address
REFILL_S = 60.0  # one more attempt each minute
KEYS_MAX = 10_000  # the oldest are forgotten: memory must not grow with the names that somebody invents


class SignInLimit:
    """Buckets of attempts, by name and by address."""

    def __init__(self) -> None:
        self._spent: OrderedDict[str, tuple[float, float]] = (
            OrderedDict()
        )  # attempts, and when that was right

    def wait_s(self, name: str, address: str, now_s: float) -> float:
        """How long until the next attempt is allowed; 0 if it is allowed now, which then counts as one."""
        limits = {f"name {name}": NAME_ATTEMPTS, f"address {address}": ADDRESS_ATTEMPTS}
        spent = {key: self._level(key, now_s) for key in limits}
        wait_s = max((spent[key] - limit + 1) * REFILL_S for key, limit in limits.items())
        if wait_s > 0:
            return wait_s
        for key, level in spent.items():
            self._set(key, level + 1, now_s)
        return 0.0

    def forgive(self, name: str, now_s: float) -> None:
        """The name signed in: what it mistyped before no longer counts."""
        self._set(f"name {name}", 0.0, now_s)

    def _level(self, key: str, now_s: float) -> float:
        level, at_s = self._spent.get(key, (0.0, now_s))
        return max(0.0, level - (now_s - at_s) / REFILL_S)

    def _set(self, key: str, level: float, now_s: float) -> None:
        self._spent[key] = (level, now_s)
        self._spent.move_to_end(key)
        if len(self._spent) > KEYS_MAX:
            self._spent.popitem(last=False)
