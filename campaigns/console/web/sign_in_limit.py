"""The limit on attempts to sign in. Time is an argument, in seconds of a monotonic clock.

Law: a name and an address are limited each on their own. A limit of names alone would let anybody lock a user
out from everywhere; a limit of addresses alone would not slow down a guess from many addresses.
"""

from drumbeat.campaigns.console.web.request_limits import Allowance, Buckets, network_of

# A person mistypes a password a few times. A guess of a weak one takes thousands of attempts.
NAME_ATTEMPTS = 10
ADDRESS_ATTEMPTS = 30  # an office may share an address
REFILL_S = 60.0  # one more attempt each minute
OF_NAME = Allowance("name", NAME_ATTEMPTS, REFILL_S)
OF_ADDRESS = Allowance("address", ADDRESS_ATTEMPTS, REFILL_S)


class SignInLimit:
    """The buckets of attempts, by name and by address."""

    def __init__(self) -> None:
        self.buckets = Buckets()

    def wait_s(self, name: str, address: str, now_s: float) -> float:
        """Return the seconds until the next attempt is allowed. If that is 0, count the attempt."""
        asked = {f"name {name}": OF_NAME, f"address {network_of(address)}": OF_ADDRESS}
        return self.buckets.wait_s(asked, now_s)

    def forgive(self, name: str, now_s: float) -> None:
        """Forget the wrong attempts of a name that has signed in."""
        self.buckets.forgive(f"name {name}", now_s)
