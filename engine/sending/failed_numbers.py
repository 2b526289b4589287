"""The numbers of a process that failed, because of their rows or in their loops.

Law: a number that fails ends no process. It is given up and stopped until a person resumes it. Then it is
taken anew, with another epoch: what the failure left without an outcome is in doubt.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from drumbeat.engine.core.stops import NumberRest
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.sending.containment import concerns_the_process, reason_of
from drumbeat.engine.sending.stop_requests import StopRequests
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.queries import queries

log = get_logger(__name__)


class FailedNumbers:
    """The numbers that are not taken before a person resumes them. `part_with` ends the work of one."""

    def __init__(self, stop_requests: StopRequests, part_with: Callable[[str], None]) -> None:
        self._stop_requests = stop_requests
        self._part_with = part_with
        self._failed: set[str] = set()

    def others_of(self, phone_number_ids: Iterable[str]) -> list[str]:
        """Return the numbers that have not failed."""
        return [number for number in phone_number_ids if number not in self._failed]

    @contextmanager
    def contained(self, phone_number_id: str) -> Iterator[None]:
        """Give up the number if the work of the block for it fails."""
        try:
            yield
        except Exception as error:
            if concerns_the_process(error):
                raise
            self._give_up(phone_number_id, error)

    def _give_up(self, phone_number_id: str, error: Exception) -> None:
        """Give up a number. The worker stores the stop, as if the service had refused the number."""
        if phone_number_id in self._failed:
            return
        log.error("number_failed", number=phone_number_id, exc_info=error)
        self._failed.add(phone_number_id)
        self._stop_requests.add(NumberRest(phone_number_id, reason_of(error), None))
        self._part_with(phone_number_id)

    async def take_resumed(self, connection: Connection) -> list[str]:
        """Return the numbers that a person resumed. They no longer count as failed."""
        stored = [number for number in self._failed if not self._stop_requests.has_rest_for(number)]
        if not stored:
            return []
        rows = await connection.fetch(queries("numbers")["resumed"], stored)
        resumed = [row["phone_number_id"] for row in rows]
        self._failed.difference_update(resumed)
        return resumed

    def wait_for(self, phone_number_id: str) -> None:
        """Look for a resumed number again, because it could not be taken while its former lease runs."""
        self._failed.add(phone_number_id)
