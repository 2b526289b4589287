"""The containment of failures that concern one number or one campaign: it is stopped with its reason.

Law: no content of a row ends a process, and the other numbers and campaigns continue. A number that fails is
stopped (`FailedNumbers`), a campaign that fails is paused (`CampaignReader`). Both are logged and notified,
and a person ends them. Errors that concern the whole process pass: a lost connection, which each part
repeats; an error with an exit code, as of a number that another process holds; too little memory; a
cancellation.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from drumbeat.engine.core.sanitise import sanitise
from drumbeat.engine.errors import ConfigurationError, DrumbeatError
from drumbeat.engine.sending.campaign_cache import CampaignCache
from drumbeat.engine.store.database import LOST_CONNECTION

REASON_LENGTH_MAX = 300


def concerns_the_process(error: Exception) -> bool:
    """Return whether an error says nothing about the number or campaign at hand."""
    return isinstance(error, (*LOST_CONNECTION, DrumbeatError, MemoryError))


def reason_of(error: Exception) -> str:
    """Return the reason of a stop or a pause, in one line."""
    if isinstance(error, ConfigurationError):
        return sanitise(str(error))[:REASON_LENGTH_MAX]
    return sanitise(f"what is stored of it fails: {error!r}")[:REASON_LENGTH_MAX]


@contextmanager
def contained(cache: CampaignCache, campaign_id: int) -> Iterator[None]:
    """Stop the campaign if the work of the block for it fails. `CampaignReader` pauses it."""
    try:
        yield
    except Exception as error:
        if concerns_the_process(error) and not isinstance(error, ConfigurationError):
            raise
        cache.fail(campaign_id, error)
