"""A message to one person, sent as a campaign with one recipient.

So the message is claimed before it is sent, kept to the pace and the pair rate, and recorded like all others.
"""

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from drumbeat.campaigns.campaign import find_campaign
from drumbeat.campaigns.command_text import command_text
from drumbeat.campaigns.life import control
from drumbeat.campaigns.life.control import CampaignChange
from drumbeat.campaigns.life.run import paused, run_campaign
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.phones.normaliser import Normaliser, read_phone_with
from drumbeat.campaigns.planning.free_form import read_message, with_reply
from drumbeat.campaigns.planning.one_recipient import plan_one
from drumbeat.campaigns.planning.opened.disk_limit import stop_when_disk_is_short
from drumbeat.campaigns.progress import STATEMENT_TIMEOUT_S, PlanProgress, no_progress
from drumbeat.campaigns.results.export import COLUMNS, export_rows
from drumbeat.campaigns.sql import statements
from drumbeat.campaigns.stored_recipients import require_kept
from drumbeat.engine.core.message_types import Text
from drumbeat.engine.core.states import CampaignState, RecipientState
from drumbeat.engine.errors import Incomplete, UsageError
from drumbeat.engine.process.disk_space import Disk
from drumbeat.engine.process.settings import ServiceSettings
from drumbeat.engine.store.database import Connection, Pool, close, connect

_ACCEPTED = (RecipientState.ACCEPTED, RecipientState.SENT, RecipientState.DELIVERED, RecipientState.READ)


@dataclass(frozen=True, slots=True)
class SentToOne:
    """The message and its result, in the words of `campaign export`. `phone` is in digits of E.164."""

    name: str
    phone: str
    state: str
    code: str
    reason: str
    wamid: str
    phone_number_id: str

    def as_json(self) -> dict[str, Any]:
        return {"schema": 1, **asdict(self), "code": int(self.code) if self.code else None}

    @property
    def problem(self) -> Incomplete | None:
        """Return the reason why the service has not accepted the message; None if it has."""
        if self.state in _ACCEPTED:
            return None
        code = f" ({self.code})" if self.code else ""
        in_doubt = self.state == RecipientState.UNKNOWN
        return Incomplete(
            f"the message is not accepted: {self.state}{code}, {self.reason or 'no reason is known'}",
            remedy=f"see `{command_text('campaign', 'settle', self.name)}`" if in_doubt else "",
        )


def new_name() -> str:
    """Return a name for the campaign of one message, such as `message-20260101T120000Z-3f9a`."""
    return f"message-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


def message_spec(
    name: str,
    *,
    number: str,
    template: str | None = None,
    language: str | None = None,
    params: Sequence[str] = (),
    text: str | None = None,
    message: Mapping[str, Any] | None = None,
    reply_to: str | None = None,
    region: str | None = None,
    header_link: str | None = None,
    header_media_id: str | None = None,
    header_filename: str | None = None,
) -> CampaignSpec:
    """Return the campaign of one message: a template, a text, or the object of any other type. Raise
    UsageError if none of them is given, or several. Options with `header` are the template's.
    """
    given = [each for each in (template, text, message) if each is not None]
    if len(given) != 1:
        raise UsageError(
            "one message is needed", remedy="give one of {template}, {text} and {message}", values={}
        )
    if template is not None and (language is None or reply_to is not None):
        raise UsageError("{template} needs {language}, and takes no {reply_to}", values={})
    content = None
    if text is not None:
        content = with_reply({"type": Text.kind, Text.kind: Text(text).content()}, reply_to)
    elif message is not None:
        content = with_reply(read_message(orjson.dumps(dict(message)), "message"), reply_to)
    return CampaignSpec(
        name=name,
        template=template or str((content or {})["type"]),
        language=language or "",
        read_from=Path(),
        number=[number],
        param=[f"={value}" for value in params],
        region=region,
        header_link=header_link,
        header_media_id=header_media_id,
        header_filename=header_filename,
        message=content,
    )


async def plan_message(url: str, spec: CampaignSpec, to: str, *, disk: Disk | None = None) -> None:
    """Store a message as `store_message` does, over a connection of its own."""
    connection = await connect(url, command_timeout_s=STATEMENT_TIMEOUT_S)
    try:
        await store_message(connection, spec, to, disk=disk)
    finally:
        await close(connection)


async def store_message(
    connection: Connection,
    spec: CampaignSpec,
    to: str,
    *,
    disk: Disk | None = None,
    start_by: str | None = None,
) -> CampaignChange | None:
    """Store the campaign `spec` with the recipient `to`. The same call again changes nothing.

    With `start_by`, it is released to the workers in the same transaction, and this is noted as done by that
    name. Raise UsageError if `to` is no phone, the errors of `plan_one`, and TryLater if the disk is short.
    """
    phone = read_phone_with(Normaliser(spec.region, spec.repair_old or ()), to, spec.region)
    stop_when_disk_is_short(disk, no_progress)(PlanProgress("freezing", 0, 1, 1))
    first_range_id = await connection.fetchval(statements("plan")["prepare_today"])
    async with connection.transaction():
        # Urgent: a password reset must not wait behind a sale.
        await plan_one(connection, replace(spec, is_urgent=True), phone, first_range_id)
        if start_by is None:
            return None
        campaign = await find_campaign(connection, spec.name)
        if campaign.state is not CampaignState.DRAFT:
            return CampaignChange(campaign.name, campaign.state, changed=False)
        return await control.start(connection, campaign, actor=start_by)


async def run_message(
    pool: Pool, service: ServiceSettings, name: str, *, stop: asyncio.Event, disk: Disk | None = None
) -> SentToOne:
    """Send a planned message and return what happened to it. While another process has the number, wait: that
    process may send the message. Raise the error that `paused` makes of a pause.
    """
    end = await run_campaign(pool, service, name, stop=stop, wait=True, disk=disk, compare_templates=False)
    if end.status.state is CampaignState.PAUSED and not end.stopped:
        raise paused(end.status)
    campaign = await find_campaign(pool, name)
    await require_kept(pool, campaign.campaign_id, name)
    pages = [page async for page in export_rows(pool, campaign.campaign_id)]
    cells = dict(zip(COLUMNS, pages[0][0], strict=False))
    wanted = {key: cells[key] for key in ("phone", "state", "code", "reason", "wamid", "phone_number_id")}
    return SentToOne(name=name, **{**wanted, "phone": wanted["phone"].removeprefix("+")})
