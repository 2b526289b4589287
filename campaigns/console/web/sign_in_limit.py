"""The limit on attempts to sign in. Time is an argument, in seconds of a monotonic clock.

Law: wrong passwords never lock a person out of the places from which that person signs in. So a guess is
limited by its address and by name and address together. A name alone is limited only where it never signed
in, which slows down a guess from many addresses. A browser that signed in before has attempts of its own.
"""

from collections import OrderedDict
from typing import NamedTuple

from drumbeat.campaigns.console.web.request_limits import KEYS_MAX, Allowance, Buckets, network_of

# A person mistypes a password a few times. A guess of a weak one takes thousands of attempts.
NAME_ATTEMPTS = 10  # with one name from one address, or in one browser that is known
ADDRESS_ATTEMPTS = 30  # an office may share an address
STRANGE_ATTEMPTS = 100  # with one name from all addresses where it never signed in
REFILL_S = 60.0  # one more attempt each minute
OF_NAME = Allowance("name", NAME_ATTEMPTS, REFILL_S)
OF_ADDRESS = Allowance("address", ADDRESS_ATTEMPTS, REFILL_S)
OF_STRANGERS = Allowance("strangers", STRANGE_ATTEMPTS, REFILL_S)


class Attempt(NamedTuple):
    """An attempt to sign in. `is_known`: the browser shows that this name signed in with it before."""

    name: str
    address: str
    is_known: bool = False

    @property
    def place(self) -> str:
        """Return the name together with where it is used."""
        return f"known {self.name}" if self.is_known else f"{network_of(self.address)} {self.name}"


class SignInLimit:
    """The buckets of wrong attempts, and the places where a name signed in lately."""

    def __init__(self) -> None:
        self.buckets = Buckets()
        self._places: OrderedDict[str, None] = OrderedDict()

    def wait_s(self, attempt: Attempt, now_s: float) -> float:
        """Return the seconds until the attempt is allowed. If that is 0, count it as a wrong one: of many at
        once, none may slip through before its password is checked.
        """
        return self.buckets.wait_s(self._asked(attempt), now_s)

    def was_right(self, attempt: Attempt, now_s: float) -> None:
        """Take back the count of an attempt whose password was right, and all wrong ones of its place."""
        for key, allowance in self._asked(attempt).items():
            self.buckets.give_back(key, allowance, now_s)
        self.buckets.forgive(attempt.place, now_s)
        self._places[attempt.place] = None
        self._places.move_to_end(attempt.place)
        if len(self._places) > KEYS_MAX:
            self._places.popitem(last=False)

    def _asked(self, attempt: Attempt) -> dict[str, Allowance]:
        asked = {attempt.place: OF_NAME}
        if not attempt.is_known:
            asked[f"address {network_of(attempt.address)}"] = OF_ADDRESS
            if attempt.place not in self._places:
                asked[f"name {attempt.name}"] = OF_STRANGERS
        return asked
