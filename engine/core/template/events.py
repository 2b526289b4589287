"""The table of the words with which the service announces the status of a template.

Law: a word that is not in the table changes no status. It may come from a later version of the service, and
neither "may be sent" nor "may not" can be guessed from it.
"""

from typing import NamedTuple

from drumbeat.engine.core.template.status import STOPPED_STATUSES


class TemplateWord(NamedTuple):
    """The meaning of a word. `status` is the new status, None if it stays.

    `stopped` says in words for people how the template was stopped; empty if it was not.
    """

    status: str | None
    stopped: str = ""


UNKNOWN = TemplateWord(None)
# The words of the interface, and those that services of this family add (open point).
_WORDS = {
    **{status: TemplateWord(status, words) for status, words in STOPPED_STATUSES.items()},
    "APPROVED": TemplateWord("APPROVED"),
    "REINSTATED": TemplateWord("APPROVED"),
    "UNLOCKED": TemplateWord("APPROVED"),
    "PENDING": TemplateWord("PENDING"),
    "FLAGGED": TemplateWord(None),  # its quality is low; it can still be sent
}


def read_template_word(event: str) -> TemplateWord:
    """Return what the word means. A word in any case counts; an unknown one changes nothing."""
    return _WORDS.get(event.strip().upper(), UNKNOWN)
