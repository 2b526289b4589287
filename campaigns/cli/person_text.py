"""The text of what happened to a person, and of the receipt of forgetting."""

from collections.abc import Iterator

from drumbeat.campaigns.life.forget import ForgetReceipt
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.campaigns.results.person import Person, events
from drumbeat.engine.core.sanitise import sanitise


def person_lines(person: Person) -> Iterator[str]:
    """Give the lines of `person show`."""
    first, *others = (f"+{phone}" for phone in person.spellings)
    yield first + (f", also {', '.join(others)}" if others else "")
    if person.suppressed_because is not None:
        yield f"on the suppression list: {sanitise(person.suppressed_because)}"
    if not person.campaigns and not person.messages:
        yield "nothing else is stored of this phone"
        return
    for campaign in person.campaigns:
        why = f" ({sanitise(campaign.reason)})" if campaign.reason else ""
        yield f"{campaign.campaign}: {campaign.state}{why}"
    yield ""
    for event in events(person):
        of = f"{event.campaign}: " if event.campaign else ""
        yield f"{event.at.isoformat(timespec='milliseconds')}  {of}{sanitise(event.what)}"


def receipt_lines(receipt: ForgetReceipt) -> Iterator[str]:
    """Give the lines of `person forget`."""
    yield f"forgotten at {receipt.at.isoformat(timespec='seconds')}, now {receipt.pseudonym}"
    yield f"campaigns: {', '.join(map(sanitise, receipt.campaigns)) or 'none'}"
    yield (
        f"erased: {pluralise(receipt.recipients, 'recipient')}, ids and texts of"
        f" {pluralise(receipt.attempts, 'attempt')}, {pluralise(receipt.messages, 'message')} of the person,"
        f" {pluralise(receipt.events, 'event')}"
    )
    if receipt.skipped:
        yield f"never sent: {pluralise(receipt.skipped, 'message')}"
    if receipt.suppressed:
        yield "kept: the phone on the suppression list, so that nothing is sent again"
