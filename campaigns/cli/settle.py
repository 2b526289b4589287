"""`drumbeat campaign settle`: show who is in doubt and why; send again, treat them as sent, or name more."""

from contextlib import suppress
from dataclasses import replace
from typing import Annotated

import typer

from drumbeat.campaigns.actor import actor
from drumbeat.campaigns.cli.options import CampaignName, Json, Quiet
from drumbeat.campaigns.cli.printing import note, print_json
from drumbeat.campaigns.cli.run_progress import view_for, watched
from drumbeat.campaigns.cli.signals import stop_on_signals
from drumbeat.campaigns.cli.task_runner import with_settings
from drumbeat.campaigns.command_text import command_text
from drumbeat.campaigns.life.run import run_campaign
from drumbeat.campaigns.life.settle import Settled, settle_campaign
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.campaigns.results.status import CampaignStatus, campaign_status
from drumbeat.engine.app import POOL_CONNECTIONS
from drumbeat.engine.core.states import CampaignState, ReasonCode
from drumbeat.engine.errors import TryLater, UsageError
from drumbeat.engine.process.settings import Settings
from drumbeat.engine.process.telemetry import quieten
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.in_doubt import InDoubtGroup, summarise_in_doubt
from drumbeat.engine.store.lost_time import LOST_S_MAX

app = typer.Typer(add_completion=False)

LostTime = Annotated[
    int | None,
    typer.Option(
        help="After a restore or fail-over: put all recipients in doubt to whom the campaign may have sent in"
        " the time that the database lost.",
        min=1,
        max=LOST_S_MAX,
        metavar="SECONDS",
    ),
]


@app.command()
def settle(
    name: CampaignName,
    resend_all: Annotated[bool, typer.Option("--resend", help="Send again to everybody in doubt.")] = False,
    assume: Annotated[
        bool, typer.Option("--assume-sent", help="Treat everybody in doubt as sent to.")
    ] = False,
    lost: LostTime = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show who is in doubt.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show the recipients in doubt. Or send to them again, or treat them as sent.

    The report lists each decision.

    --lost sends nothing. Use it before you resume a campaign of a restored database.

    --resend sends at once if nobody else waits in the campaign; otherwise it only queues them. A recipient
    who is on the suppression list by then stays in doubt, because the first message may have arrived.
    """
    if sum((resend_all, assume, lost is not None)) > 1:
        raise UsageError(
            "--resend, --assume-sent and --lost contradict each other", remedy="give one of them"
        )
    if quiet:
        quieten()
    action = None if dry_run else _action(resend_all=resend_all, assume=assume, lost=lost)

    async def main(pool: Pool, settings: Settings) -> int:
        settled = await settle_campaign(
            pool, name, action, settings.silence_s, lost_s=lost or 0, actor=actor()
        )
        if action == "resend":
            status = await campaign_status(pool, settled.campaign.campaign_id)
            if _sends_only_in_doubt(status, settled.recipients):
                return await _send(pool, settings, settled, json=json, quiet=quiet)
            if hint := _who_sends(status, settled.recipients):
                note(hint)
        _print(settled, json)
        return 0

    raise typer.Exit(with_settings(main, size=POOL_CONNECTIONS, by_key=True))


def _action(*, resend_all: bool, assume: bool, lost: int | None) -> str | None:
    if lost is not None:
        return "lost-time"
    return "resend" if resend_all else "assume-sent" if assume else None


async def _send(pool: Pool, settings: Settings, settled: Settled, *, json: bool, quiet: bool) -> int:
    """Send as `campaign run` does. If another process has the numbers, that process sends what is queued."""
    campaign = settled.campaign
    with stop_on_signals() as stop:
        try:
            async with watched(pool, campaign.campaign_id, view_for(json=json, quiet=quiet)):
                end = await run_campaign(
                    pool, settings.service(), campaign.name, stop=stop.event, disk=settings.disk()
                )
        except TryLater as error:
            note(f"queued: another process has the numbers and sends to them ({error})")
            _print(settled, json)
            return 0
    async with pool.acquire() as connection:
        left = await summarise_in_doubt(connection, campaign.campaign_id, silence_s=settings.silence_s)
    with suppress(OSError):  # `main` reports a failed stdout; the run's own end matters more
        _print(replace(settled, left=left, status=end.status), json)
    end.require_complete()
    return stop.exit_code


def _sends_only_in_doubt(status: CampaignStatus, queued: int) -> bool:
    """Return whether a run would send only to the recipients in doubt. A resend must send to nobody else."""
    return status.state is CampaignState.RUNNING and queued > 0 and status.waiting <= queued


def _who_sends(status: CampaignStatus, queued: int) -> str:
    """Return which process sends the queued messages and how to continue. The text is empty if nobody waits,
    or if the campaign neither runs nor is paused.
    """
    who = pluralise(status.waiting, "recipient waits", "recipients wait")
    waiting = f"{who} for a message, perhaps a second one"
    if not (queued or status.waiting):
        return ""
    if status.state is CampaignState.RUNNING:
        said = "queued: they are sent to with the remaining recipients" if queued else waiting
        return f"{said}; {_who_continues(status)}"
    if status.state is CampaignState.PAUSED:
        said, again = "queued" if queued else waiting, command_text("campaign", "resume", status.name)
        return f"{said}; the campaign is paused ({status.reason}); lift the pause with `{again}`"
    return ""


def _who_continues(status: CampaignStatus) -> str:
    owners = ", ".join(sorted({number.owner for number in status.numbers if number.owner}))
    if owners:
        return f"the numbers belong to {owners} now"
    return f"continue with: {command_text('campaign', 'run', status.name)}"


def _print(settled: Settled, json: bool) -> None:
    if json:
        print_json(settled.as_json())
        return
    if settled.action == "lost-time":
        who = pluralise(settled.recipients, "recipient", "recipients")
        typer.echo(f"{who} put in doubt: they may have been sent to in the time that was lost")
    elif settled.action is not None:
        typer.echo(_decision(settled))
    typer.echo(f"in doubt: {settled.left.recipients:,}")
    for group in settled.left.groups:
        typer.echo(f"  {_line(group)}")
    if settled.action is None and settled.campaign.reason_code is ReasonCode.DATABASE_ROLLED_BACK:
        lost = command_text("campaign", "settle", settled.campaign.name, "--lost")
        typer.echo(
            f"the database went back in time: first `{lost} SECONDS` puts in doubt "
            "whom the lost time may concern"
        )
    elif settled.left.recipients:
        ways = "--resend or --assume-sent" if settled.may_resend else "--assume-sent"
        typer.echo(f"their statuses settle them; {ways} settles them now")


def _decision(settled: Settled) -> str:
    resent = settled.action == "resend"
    if settled.recipients:
        who = pluralise(settled.recipients, "recipient in doubt is", "recipients in doubt are")
        return f"{who} {'sent to again' if resent else 'taken as sent'}"
    return f"nobody is in doubt: nothing is {'sent again' if resent else 'taken as sent'}"


def _line(group: InDoubtGroup) -> str:
    number = group.phone_number_id or "an unknown number"
    unsent = f", {group.probably_not_sent:,} probably not sent" if group.probably_not_sent else ""
    since = group.since.isoformat(timespec="seconds")
    return f"{group.recipients:,} at {number} since {since}{unsent}{_outlook(group)}: {group.reason}"


def _outlook(group: InDoubtGroup) -> str:
    if group.probably_not_sent == group.recipients:
        return ""
    if group.all_silent_at is None:
        return ", no events of this number arrive now"
    return f", all probably not sent from {group.all_silent_at.isoformat(timespec='seconds')} on"
