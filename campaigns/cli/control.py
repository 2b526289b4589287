"""`drumbeat campaign start`, `pause`, `resume`, `approve` and `cancel`.

Running processes follow within a second.
"""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer

from drumbeat.campaigns.actor import actor
from drumbeat.campaigns.cli.options import CampaignName, Json, Now
from drumbeat.campaigns.cli.printing import note, print_json
from drumbeat.campaigns.cli.status_text import how_to_resume, no_worker
from drumbeat.campaigns.cli.task_runner import with_connection, with_database, with_settings
from drumbeat.campaigns.life.category import accept_categories
from drumbeat.campaigns.life.control import CampaignChange, cancel, pause, pause_all
from drumbeat.campaigns.life.release import Released, approve_checked, resume_checked, start_checked
from drumbeat.engine.core.states import CampaignState
from drumbeat.engine.errors import UsageError
from drumbeat.engine.process.settings import Settings
from drumbeat.engine.store.database import Pool

app = typer.Typer(add_completion=False)


@app.command("start")
def start_campaign(name: CampaignName, json: Json = False) -> None:
    """Hand a campaign to the workers, which send it at once or at its start time."""
    _print_changes(with_settings(partial(_start, name=name)), json)


@app.command("pause")
def pause_campaign(
    name: Annotated[str | None, typer.Argument(help="The campaign's name.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Pause every campaign: the emergency stop.")] = False,
    json: Json = False,
) -> None:
    """Stop sending a campaign; `resume` continues where it stopped."""
    if every == (name is not None):
        raise UsageError("name one campaign, or give --all")
    changes = with_connection(partial(pause_all, actor=actor())) if name is None else [_change(pause, name)]
    _print_changes(changes, json)


@app.command("resume")
def resume_campaign(
    name: Annotated[str | None, typer.Argument(help="The campaign's name.")] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Resume every campaign that has started, whatever paused it.")
    ] = False,
    now: Now = False,
    json: Json = False,
) -> None:
    """Lift a pause. After a database was restored, check the campaigns before you use --all.

    A scheduled campaign that was paused until after its start would send at once: that needs --now.

    If the service had refused the access token, the token is tried first: exit 77 if it is still refused.
    """
    if every == (name is not None):
        raise UsageError("name one campaign, or give --all")
    if every and now:
        raise UsageError("--now is for one campaign: --all resumes none that has never started")
    changes = with_settings(partial(_resume, name=name, now=now))
    paused = [] if json else [change for change in changes if change.state is CampaignState.PAUSED]
    _print_changes([change for change in changes if change not in paused], json, "no campaign was resumed")
    for change in paused:
        note(f"{change.name}: stays paused, because {change.stays_paused}")


@app.command("approve")
def approve_campaign(name: CampaignName, json: Json = False) -> None:
    """Approve the canary of a campaign: the rest is sent if the canary is healthy.

    Given early, it counts when the canary's results are there.
    """
    _print_changes(with_settings(partial(_approve, name=name)), json)


@app.command("accept-category")
def accept_category(name: CampaignName, json: Json = False) -> None:
    """Agree to send the campaign with the categories that its templates have now, as to another price."""
    found = with_database(partial(accept_categories, name=name, actor=actor()))
    if json:
        print_json({"schema": 1, "name": name, "categories": found})
    else:
        typer.echo(f"{name}: {', '.join(f'{template} as {word}' for template, word in found.items())}")


@app.command("cancel")
def cancel_campaign(name: CampaignName, json: Json = False) -> None:
    """End a campaign for good. Recipients who were not sent to are skipped."""
    _print_changes([_change(cancel, name)], json)


async def _start(pool: Pool, settings: Settings, *, name: str) -> list[CampaignChange]:
    return _noted(await start_checked(pool, settings, name, actor=actor()))


async def _resume(pool: Pool, settings: Settings, *, name: str | None, now: bool) -> list[CampaignChange]:
    return _noted(await resume_checked(pool, settings, name, actor=actor(), now=now))


async def _approve(pool: Pool, settings: Settings, *, name: str) -> list[CampaignChange]:
    return _noted(await approve_checked(pool, settings, name, actor=actor()))


def _noted(released: Released) -> list[CampaignChange]:
    for line in released.notes:
        note(line)
    return released.changes


def _change(action: Callable[..., Awaitable[CampaignChange]], name: str) -> CampaignChange:
    """Run `action`, a function of `campaigns.life.control`, for one campaign."""
    return with_connection(lambda connection: action(connection, name, actor=actor()))


def _print_changes(
    changes: list[CampaignChange], json: bool, if_none: str = "no campaign is scheduled or running"
) -> None:
    if json:
        print_json({"schema": 1, "campaigns": [asdict(change) for change in changes]})
        return
    for change in changes:
        skipped = f", {change.skipped:,} skipped" if change.skipped else ""
        typer.echo(f"{change.name}: {change.state}{'' if change.changed else ' already'}{skipped}")
        if change.nobody_sends:
            note(no_worker(change.name, change.state))
        for held in change.held_numbers:
            run = f'the run of "{held.campaign}" ({held.owner})'
            note(f"number {held.number} sends nothing of it until {run} ends: end that run to begin at once")
        for number in change.stopped_numbers:
            stopped = f"number {number.phone_number_id} is stopped: {number.reason}"
            note(f"{stopped}; {how_to_resume(number.phone_number_id)}")
    if not changes:
        note(if_none)
