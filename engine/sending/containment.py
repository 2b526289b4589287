"""Failures that concern one number or one campaign: it is stopped with its reason, and the others go on.

Law: whatever stands in one row never ends a process. A number that fails is stopped (`FailedNumbers`), a
campaign that fails is paused (`CampaignReader`). Both are logged and told, and a person ends them. What
concerns the whole process passes: a lost connection, which each part repeats; an error with an exit code, as
of a number that another process holds; too little memory; a cancellation.
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
    """Stop the campaign if what is done here for it fails. `CampaignReader` pauses it."""
    try:
        yield
    except Exception as error:
        if concerns_the_process(error) and not isinstance(error, ConfigurationError):
            raise
        cache.fail(campaign_id, error)
