"""The statuses of templates for which the service sends no message, and their remedies."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from drumbeat.engine.core.error_codes import remedy_of
from drumbeat.engine.core.template.campaign_template import CampaignTemplate

# The statuses, in words for people. With any other status the service decides: a refusal gives the recipient
# back.
STOPPED_STATUSES = {"PAUSED": "paused", "DISABLED": "disabled", "REJECTED": "rejected"}
# The remedies of a message that the service refuses because of such a status.
_REMEDIES = {"PAUSED": remedy_of("132015"), "DISABLED": remedy_of("132016"), "REJECTED": remedy_of("132016")}


class StoppedTemplates(NamedTuple):
    """The templates that the service does not send now, in one sentence, and the remedy for a person."""

    text: str
    remedy: str


def stopped_templates(
    templates: Sequence[CampaignTemplate], statuses: Mapping[tuple[str, str], str]
) -> StoppedTemplates | None:
    """Return those of a campaign's templates that somebody gets and the service does not send.

    Returns None if it sends all of them. `statuses` are by name and language.
    """
    stopped = {
        f"{template.name} ({template.language})": status
        for template in templates
        if template.message is None and template.recipients != 0
        if (status := statuses.get((template.name, template.language), "").upper()) in STOPPED_STATUSES
    }
    if not stopped:
        return None
    names = [f"{name} is {STOPPED_STATUSES[status]}" for name, status in stopped.items()]
    remedies = dict.fromkeys(_REMEDIES[status] for status in stopped.values())
    return StoppedTemplates(f"the template {', '.join(names)} by the service", "; ".join(remedies))
