"""The templates of a campaign, with how many recipients get each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drumbeat.campaigns.pluralise import pluralise
from drumbeat.engine.core.template.campaign_template import CampaignTemplate, stored_parts


@dataclass(frozen=True, slots=True)
class TemplateShare:
    """A template of a campaign. `recipients` is how many get it; None if it is the only one."""

    name: str
    language: str
    variant: str
    recipients: int | None


def shares_in(stored: Mapping[str, Any]) -> list[TemplateShare]:
    """Return the templates from the JSON of the column `campaigns.template`, in the order of
    `template_index`.

    A missing value stays empty, so that even a campaign that cannot be read is shown.
    """
    return [
        TemplateShare(
            part.get("name", ""), part.get("language", ""), part.get("variant", ""), part.get("recipients")
        )
        for part in stored_parts(stored)
    ]


def shares_json(shares: Sequence[TemplateShare], recipients: int) -> list[dict[str, Any]]:
    """Return an object for each template. `recipients` are those of the campaign; a template that is alone
    gets them all.
    """
    return [
        {
            "template": share.name,
            "language": share.language,
            "variant": share.variant or None,
            "recipients": recipients if share.recipients is None else share.recipients,
        }
        for share in shares
    ]


def template_text(template: TemplateShare | CampaignTemplate) -> str:
    """Return the template in words: `order (pt_BR)`, or `variant short, order_short (pt_BR)`."""
    variant = f"variant {template.variant}, " if template.variant else ""
    return f"{variant}{template.name} ({template.language})"


def share_lines(shares: Sequence[TemplateShare]) -> Iterator[str]:
    """Give a line for each template, but none if there is only one."""
    for share in shares if len(shares) > 1 else ():
        yield f"{template_text(share)}: {pluralise(share.recipients or 0, 'recipient')}"
