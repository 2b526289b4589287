"""A stored recipient of a campaign, and the message that the recipient will read."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from drumbeat.campaigns.campaign import find_campaign, require_planned
from drumbeat.campaigns.describe_database import describe_database
from drumbeat.campaigns.phones.normaliser import Normaliser, read_phone
from drumbeat.campaigns.results.person import find_recipients
from drumbeat.campaigns.sql import statements
from drumbeat.campaigns.stored_recipients import require_kept
from drumbeat.engine.core.phone_aliases import phone_aliases
from drumbeat.engine.core.template.campaign_template import CampaignTemplate, frozen_templates, value_order
from drumbeat.engine.core.template.rendering import RenderedMessage, render_message
from drumbeat.engine.errors import ConfigurationError, UsageError
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.queries import queries

SCAN_TIMEOUT_S = 300.0  # reads every recipient of the campaign: 1 µs each in memory, more from a disk


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice of one recipient: by the row of the audience or by the phone, or else the first one."""

    row: int | None = None
    phone: str | None = None

    def __post_init__(self) -> None:
        if self.row is not None and self.phone is not None:
            raise UsageError("only one recipient can be shown", remedy="give --row or --phone, not both")


@dataclass(frozen=True, slots=True)
class ChosenRecipient:
    """A recipient with its frozen template of the campaign, and a value for each of that template's
    placeholders. `row` is the line of the audience file.

    `skip_reason` says why nothing is sent to the recipient, or is None. `options` are those of `campaign
    create`. `header_file` is the local file that the header shows.
    """

    campaign: str
    phone_number_ids: tuple[str, ...]
    options: dict[str, Any]
    template: CampaignTemplate
    phone: int
    row: int
    values: tuple[str, ...]
    skip_reason: str | None
    header_file: Path | None = None

    def rendered(self) -> RenderedMessage:
        template = self.template
        placeholders = template.compiled().placeholders
        components = template.definition.get("components") or ()
        return render_message(components, placeholders, self.values, template.header_media)


def preview_json(chosen: ChosenRecipient) -> dict[str, Any]:
    return {
        "schema": 1,
        "name": chosen.campaign,
        "template": chosen.template.name,
        "language": chosen.template.language,
        "variant": chosen.template.variant or None,
        "phone": str(chosen.phone),
        "row": chosen.row,
        "skip_reason": chosen.skip_reason,
        "message": asdict(chosen.rendered()),
    }


async def choose_recipient(pool: Pool, name: str, choice: Choice) -> ChosenRecipient:
    """Return the chosen recipient. Raise ConfigurationError if the campaign has no such recipient."""
    campaign = await find_campaign(pool, name)
    require_planned(campaign)
    await require_kept(pool, campaign.campaign_id, name)
    row = await pool.fetchrow(statements("preview")["campaign"], campaign.campaign_id)
    assert row is not None, "a campaign's row is never deleted once it is planned"
    templates = frozen_templates(row["template"])
    if templates[0].message is not None:
        raise UsageError(f'"{name}" is a message of `message send`, not of a template')
    found = await _find(pool, campaign.campaign_id, choice, row["options"].get("region"))
    if found is None:
        raise ConfigurationError(
            _nobody(name, choice), where=await describe_database(pool), remedy="choose another one"
        )
    template = templates[found["template_index"]]
    values = values_for(template, templates[0], found["variables"])
    return ChosenRecipient(
        campaign=campaign.name,
        phone_number_ids=tuple(campaign.phone_number_ids),
        options=row["options"],
        template=template,
        phone=found["phone"],
        row=found["line"],
        values=values,
        skip_reason=found["skip_reason"],
        header_file=await _header_file(pool, campaign.campaign_id, template, values),
    )


async def _header_file(
    pool: Pool, campaign_id: int, template: CampaignTemplate, values: Sequence[str]
) -> Path | None:
    if not template.compiled().has_variable_media:
        return None
    path = await pool.fetchval(queries("header_files")["path"], campaign_id, values[0])
    return None if path is None else Path(path)


def values_for(template: CampaignTemplate, first: CampaignTemplate, stored: Sequence[str]) -> tuple[str, ...]:
    """Return the stored values in the order of this template's placeholders. They are stored in the order of
    the first template's.
    """
    order = value_order(first.compiled().placeholders, template.compiled().placeholders)
    return tuple(stored[at] for at in order)


async def _find(pool: Pool, campaign_id: int, choice: Choice, region: str | None) -> Any:
    sql = statements("preview")
    if choice.phone is not None:
        async with pool.acquire() as connection, connection.transaction(readonly=True):
            for phone in _readings(choice.phone, region):
                keys = await find_recipients(connection, phone_aliases(str(phone)))
                found = await connection.fetchrow(sql["recipient_of_key"], campaign_id, *keys)
                if found is not None:
                    return found
        return None
    if choice.row is not None:
        return await pool.fetchrow(sql["recipient_of_line"], campaign_id, choice.row)
    return await pool.fetchrow(sql["first_recipient"], campaign_id)


def _readings(text: str, region: str | None) -> Iterator[int]:
    """Give the phones that a text may mean. Digits alone are read first as a stored phone, as JSON has it,
    and then as a national one.
    """
    if text.isdecimal() and isinstance(stored := Normaliser().normalise(f"+{text}"), int):
        yield stored
    yield read_phone(text, region)


def _nobody(name: str, choice: Choice) -> str:
    if choice.phone is not None:
        return f'the phone {choice.phone} is not a recipient of "{name}"'
    row = f'row {choice.row} of the audience of "{name}"'
    return f"{row} is not a recipient: it was rejected, is a duplicate, or is missing"
