"""The access tokens, and the permissions of each."""

from collections.abc import Iterator

from drumbeat.emulator.clock import Clock
from drumbeat.emulator.errors import Refused
from drumbeat.emulator.identity import MESSAGING, Token

TOKEN_LIMIT = 10_000


class Tokens:
    """The tokens in force. `bearers` maps a whole `Authorization` value to its token: one look-up on the send
    path.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.bearers: dict[bytes, Token] = {}
        # The bearers that may send for every account and never expire: they need no further check.
        self.unlimited: set[bytes] = set()

    def __iter__(self) -> Iterator[Token]:
        return iter(self.bearers.values())

    def add(self, token: Token) -> None:
        """Put a token in force, replacing one of the same value."""
        if len(self.bearers) >= TOKEN_LIMIT:
            raise ValueError(f"at most {TOKEN_LIMIT} tokens")
        bearer = b"Bearer " + token.value.encode()
        self.bearers[bearer] = token
        self.unlimited.discard(bearer)
        if token.expires_at_s is None and token.accounts is None and MESSAGING in token.permissions:
            self.unlimited.add(bearer)

    def revoke(self, value: str) -> bool:
        """Make a token invalid. Return False if there is no such token."""
        bearer = b"Bearer " + value.encode()
        self.unlimited.discard(bearer)
        return self.bearers.pop(bearer, None) is not None

    def find(self, authorization: bytes | None) -> Token:
        """Return the token of a header. `Refused` (190) without one."""
        token = self.bearers.get(authorization) if authorization is not None else None
        if token is None:
            raise Refused(190, "the access token is missing or not valid")
        return token

    def check(self, token: Token, permission: str, account_id: str | None) -> None:
        """Raise `Refused`: 190 if expired, 10 without the permission, 33 for another account's object."""
        if token.expires_at_s is not None and self._clock.unix_s() >= token.expires_at_s:
            raise Refused(190, "the access token has expired")
        if permission not in token.permissions:
            raise Refused(10, f"the access token lacks the permission for {permission.replace('_', ' ')}")
        if token.accounts is not None and account_id is not None and account_id not in token.accounts:
            raise Refused(33, "the access token gives no access to this account")
