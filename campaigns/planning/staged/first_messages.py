"""The first messages of a list as their readers will see them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from drumbeat.campaigns.audience.check.row_check import FirstRow
from drumbeat.engine.core.template.campaign_template import CampaignTemplate, value_order
from drumbeat.engine.core.template.rendering import RenderedMessage, render_message

SHOWN = 3  # a person sees in them whether the columns are right


@dataclass(frozen=True, slots=True)
class FirstMessage:
    """The message that the person of a row would read. `row` is the line of the audience."""

    row: int
    phone: int
    template: CampaignTemplate
    message: RenderedMessage

    def as_json(self) -> dict[str, Any]:
        return {
            "row": self.row,
            "phone": str(self.phone),
            "language": self.template.language,
            "message": asdict(self.message),
        }


def first_messages(templates: Sequence[CampaignTemplate], rows: Sequence[FirstRow]) -> list[FirstMessage]:
    """Return the messages of rows, none without templates. A free-form message is the same for everybody."""
    if not templates or templates[0].message is not None:
        return []
    return [
        FirstMessage(row.line, row.phone, templates[row.template_index], _message(templates, row))
        for row in rows
    ]


def _message(templates: Sequence[CampaignTemplate], row: FirstRow) -> RenderedMessage:
    template = templates[row.template_index]
    placeholders = template.compiled().placeholders
    order = value_order(templates[0].compiled().placeholders, placeholders)
    components = template.definition.get("components") or ()
    values = [row.values[at] for at in order]
    return render_message(components, placeholders, values, template.header_media)
