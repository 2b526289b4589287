"""The access token of a process that sends. A new token in its file needs no restart."""

import asyncio
from collections.abc import Callable

from drumbeat.engine.clock import monotonic_ns
from drumbeat.engine.process.secret_file import REREAD_S, SecretFile


class AccessToken:
    """The token. `use` gives a new one to the transport; requests that are written carry the former one."""

    def __init__(self, file: SecretFile, use: Callable[[str], None]) -> None:
        self._file = file
        self._use = use
        self._replaced_ns = 0

    @property
    def cure(self) -> str:
        """Return what a person does after the service refused the token."""
        if self._file.path is not None:
            return "put a valid token into the file of DRUMBEAT_ACCESS_TOKEN_FILE"
        return "restart the sender with a valid DRUMBEAT_ACCESS_TOKEN, or use DRUMBEAT_ACCESS_TOKEN_FILE"

    def refresh(self) -> None:
        """Use the token of the file from now on if it is another one."""
        if self._file.refresh():
            self._use(self._file.value.get_secret_value())
            self._replaced_ns = monotonic_ns()

    def is_replaced_since(self, written_ns: int) -> bool:
        """Return whether a request written at that time carried a former token. Looks at the file at once."""
        self.refresh()
        return written_ns < self._replaced_ns

    async def watch(self) -> None:
        """Look at the file regularly, until cancelled."""
        while True:
            await asyncio.sleep(REREAD_S)
            self.refresh()
