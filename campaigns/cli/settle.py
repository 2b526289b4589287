"""`drumbeat campaign settle`: what is in doubt and why, and the two ways in which a person ends it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

import typer

from campaigns.cli.edge import note, print_json, with_settings
from campaigns.cli.live import view_for, watched
from campaigns.cli.options import CampaignName, Json, Quiet
from campaigns.cli.signals import stop_on_signals
from campaigns.command_text import command
from campaigns.counted import counted
from campaigns.life.actor import actor
from campaigns.life.control import Campaign, find_campaign
from campaigns.life.run import run_campaign
from campaigns.results.status import CampaignStatus, campaign_status
from engine.app import POOL_CONNECTIONS
from engine.core.guard import OPTED_OUT
from engine.core.states import CampaignState
from engine.errors import TryLater, UsageError
from engine.process.identity import this_process
from engine.process.settings import Settings
from engine.process.telemetry import quieten
from engine.store.database import Pool
from engine.store.in_doubt import (
    InDoubtGroup,
    InDoubtSummary,
    assume_sent,
    resend,
    summarise_in_doubt,
)
from engine.store.recovery import recover_abandoned

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, slots=True)
class Settled:
    """`action` None: only looked. `recipients`: whom the action concerned. `left`: what is still in doubt.

    `may_resend`: whether its campaign still sends. `status`: the campaign's, where sending went on in this
    process.
    """

    campaign: str
    action: str | None
    recipients: int
    left: InDoubtSummary
    may_resend: bool = True
    status: CampaignStatus | None = None

    def as_json(self) -> dict[str, Any]:
        """The document of `--json`."""
        return {
            "schema": 1,
            "name": self.campaign,
            "action": self.action,
            "recipients": self.recipients,
            "in_doubt": self.left.recipients,
            "probably_not_sent": self.left.probably_not_sent,
            "since": self.left.since,
            "doubts": [asdict(doubt) for doubt in self.left.groups],
            "status": None if self.status is None else self.status.as_json(),
        }


@app.command()
def settle(
    name: CampaignName,
    resend_all: Annotated[bool, typer.Option("--resend", help="Send to all in doubt again.")] = False,
    assume: Annotated[bool, typer.Option("--assume-sent", help="Take all in doubt as sent.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show who is in doubt.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show who is in doubt; or send to them again, or take them as sent. Decisions are kept in the audit.

    --resend sends at once if nobody else waits in the campaign; otherwise it only queues them. Who is on the
    suppression list by then gets nothing and stays in doubt, since the first message may have arrived.
    """
    if resend_all and assume:
        raise UsageError("--resend and --assume-sent say the opposite", remedy="give one of them")
    if quiet:
        quieten()
    action = None if dry_run else "resend" if resend_all else "assume-sent" if assume else None

    async def main(pool: Pool, settings: Settings) -> int:
        campaign, settled = await settle_campaign(pool, name, action, settings.silence_s)
        if action == "resend":
            status = await campaign_status(pool, campaign.campaign_id)
            if _only_doubts_are_left(status, settled.recipients):
                return await _send(pool, settings, campaign, settled, json=json, quiet=quiet)
            if hint := _who_sends_them(status, settled.recipients):
                note(hint)
        _tell(settled, json)
        return 0

    raise typer.Exit(with_settings(main, size=POOL_CONNECTIONS, by_key=True))


async def settle_campaign(
    pool: Pool, name: str, action: str | None, silence_s: float
) -> tuple[Campaign, Settled]:
    """Do what is asked (`resend`, `assume-sent`, None to look), then look what is left. Sends nothing."""
    async with pool.acquire() as connection:
        campaign = await find_campaign(connection, name)
        recipients = 0
        await recover_abandoned(connection, this_process())  # a killed sender's doubts are named first
        if action == "resend":
            recipients = await resend(connection, campaign.campaign_id, actor())
        elif action == "assume-sent":
            recipients = await assume_sent(connection, campaign.campaign_id, actor())
        left = await summarise_in_doubt(connection, campaign.campaign_id, quiet_s=silence_s)
    may_resend = campaign.state not in (CampaignState.CANCELLED, CampaignState.EXPIRED)
    return campaign, Settled(campaign.name, action, recipients, left, may_resend)


async def _send(
    pool: Pool, settings: Settings, campaign: Campaign, settled: Settled, *, json: bool, quiet: bool
) -> int:
    """Go on as `campaign run` does; another process that has the numbers sends what was queued itself."""
    with stop_on_signals() as stop:
        try:
            async with watched(pool, campaign.campaign_id, view_for(json=json, quiet=quiet)):
                end = await run_campaign(
                    pool, settings.service(), campaign.name, stop=stop.event, disk=settings.disk()
                )
        except TryLater as error:
            note(f"queued: another process has the numbers and sends them ({error})")
            _tell(settled, json)
            return 0
    async with pool.acquire() as connection:
        left = await summarise_in_doubt(connection, campaign.campaign_id, quiet_s=settings.silence_s)
    with suppress(OSError):  # told by `main`; how it ended counts for more
        _tell(replace(settled, left=left, status=end.status), json)
    end.require_complete()
    return stop.exit_code


def _only_doubts_are_left(status: CampaignStatus, queued: int) -> bool:
    """Whether sending would reach those in doubt and nobody else: a resend is for no more than that."""
    return status.state is CampaignState.RUNNING and queued > 0 and status.waiting <= queued


def _who_sends_them(status: CampaignStatus, queued: int) -> str:
    """Who sends what a resend queued, now or before it was interrupted; empty where nobody waits or sends."""
    waiting = f"{counted(status.waiting, 'recipient waits', 'recipients wait')} to be sent to, perhaps again"
    if not (queued or status.waiting):
        return ""
    if status.state is CampaignState.RUNNING:
        said = "queued: they are sent with the rest" if queued else waiting
        return f"{said}; {_who_goes_on(status)}"
    if status.state is CampaignState.PAUSED:
        said, again = "queued" if queued else waiting, command("campaign", "resume", status.name)
        return f"{said}; the campaign is paused ({status.reason}): `{again}` lifts it"
    return ""


def _who_goes_on(status: CampaignStatus) -> str:
    owners = ", ".join(sorted({number.owner for number in status.numbers if number.owner}))
    if owners:
        return f"the numbers are with {owners}"
    return f"go on with: {command('campaign', 'run', status.name)}"


def _tell(settled: Settled, json: bool) -> None:
    if json:
        print_json(settled.as_json())
        return
    if settled.action is not None:
        resent = settled.action == "resend"
        if settled.recipients:
            who = counted(settled.recipients, "recipient in doubt is", "recipients in doubt are")
            typer.echo(f"{who} {'sent to again' if resent else 'taken as sent'}")
        else:
            typer.echo(f"nobody is in doubt: nothing is {'sent again' if resent else 'taken as sent'}")
    typer.echo(f"in doubt: {settled.left.recipients:,}")
    for doubt in settled.left.groups:
        typer.echo(f"  {_line(doubt)}")
    if settled.left.recipients:
        ways = "--resend or --assume-sent" if _may_be_sent_to(settled) else "--assume-sent"
        typer.echo(f"their statuses settle them; {ways} ends the wait")


def _may_be_sent_to(settled: Settled) -> bool:
    """Whether a resend would send to anybody who is left: who asked for silence stays in doubt."""
    return settled.may_resend and not all(doubt.reason.startswith(OPTED_OUT) for doubt in settled.left.groups)


def _line(doubt: InDoubtGroup) -> str:
    silent = f", {doubt.probably_not_sent:,} probably not sent" if doubt.probably_not_sent else ""
    since = doubt.since.isoformat(timespec="seconds")
    return f"{doubt.recipients:,} at {doubt.phone_number_id} since {since}{silent}: {doubt.reason}"
