"""A secret that a running process reads again from its file, so that a new one needs no restart."""

from pathlib import Path

from pydantic import SecretStr

from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.process.settings import RereadSecret, read_secret
from drumbeat.engine.process.telemetry import also_mask
from drumbeat.engine.process.throttled_log import ThrottledLog

REREAD_S = 1.0  # seconds between two looks at a file; a network's file system answers that often

log = get_logger(__name__)


class SecretFile:
    """A secret with its present `value`. If `path` is None, it comes from elsewhere and never changes."""

    def __init__(self, name: RereadSecret, value: SecretStr, path: Path | None) -> None:
        self.value = value
        self.path = path
        self._name = name
        self._unread = ThrottledLog("secret_not_read", "secret_read_again")

    def refresh(self) -> bool:
        """Read the file. True if it holds another secret, which is `value` from now on.

        A file that cannot be read, or that holds no such secret, is logged, and `value` stays.
        """
        if self.path is None:
            return False
        try:
            found = read_secret(self._name, self.path)
        except ConfigurationError as problem:
            self._unread.report(secret=self._name, problem=str(problem), effect="the former one is used")
            return False
        self._unread.resolve()
        if found == self.value:
            return False
        also_mask(found)
        self.value = found
        log.info("secret_replaced", secret=self._name, file=str(self.path))
        return True
