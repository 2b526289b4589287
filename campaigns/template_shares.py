"""Shows the templates of a campaign, with how many recipients get each."""

from collections.abc import Iterator, Sequence
from typing import Any

from campaigns.pluralise import pluralise
from engine.core.campaign_template import CampaignTemplate


def shares_json(templates: Sequence[CampaignTemplate], recipients: int) -> list[dict[str, Any]]:
    """An object for each template. `recipients`: of the campaign, which one template alone gets whole."""
    return [
        {
            "template": template.name,
            "language": template.language,
            "variant": template.variant or None,
            "recipients": recipients if template.recipients is None else template.recipients,
        }
        for template in templates
    ]


def share_lines(templates: Sequence[CampaignTemplate]) -> Iterator[str]:
    """A line for each template; none if there is one."""
    for template in templates if len(templates) > 1 else ():
        variant = f"variant {template.variant}, " if template.variant else ""
        count = pluralise(template.recipients or 0, "recipient")
        yield f"{variant}{template.name} ({template.language}): {count}"
