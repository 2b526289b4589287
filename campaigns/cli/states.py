"""`drumbeat campaign start`, `pause`, `resume`, `cancel`: running processes follow within a second."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated

import typer

from campaigns.cli.edge import note, print_json, with_connection
from campaigns.cli.options import CampaignName, Json
from campaigns.cli.words import how_to_go_on
from campaigns.command_text import command
from campaigns.life.actor import actor
from campaigns.life.control import Moved, cancel, pause, pause_all, resume, resume_all, start
from campaigns.results.status import NOBODY_SENDS
from engine.core.states import CampaignState
from engine.errors import UsageError

app = typer.Typer(add_completion=False)


@app.command("start")
def start_campaign(name: CampaignName, json: Json = False) -> None:
    """Release a campaign to the workers, at once or at its time."""
    _tell([_move(start, name)], json)


@app.command("pause")
def pause_campaign(
    name: Annotated[str | None, typer.Argument(help="The campaign's name.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every campaign: the emergency stop.")] = False,
    json: Json = False,
) -> None:
    """Stop sending a campaign; `resume` continues where it stopped."""
    if every == (name is not None):
        raise UsageError("name one campaign, or give --all")
    _tell(with_connection(partial(pause_all, actor=actor())) if name is None else [_move(pause, name)], json)


@app.command("resume")
def resume_campaign(
    name: Annotated[str | None, typer.Argument(help="The campaign.")] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every campaign that has started, whatever it was paused for.")
    ] = False,
    json: Json = False,
) -> None:
    """Lift a pause. With --all every pause, as after a database that was restored: look first."""
    if every == (name is not None):
        raise UsageError("name one campaign, or give --all")
    moved = with_connection(partial(resume_all, actor=actor())) if name is None else [_move(resume, name)]
    if json:
        _tell(moved, json)
        return
    _tell([one for one in moved if one.state is not CampaignState.PAUSED], json, "no campaign is resumed")
    for one in moved:
        if one.state is CampaignState.PAUSED:
            again = command("campaign", "resume", one.name)
            note(f"{one.name}: stays paused, since it has never started; `{again}` releases it")


@app.command("cancel")
def cancel_campaign(name: CampaignName, json: Json = False) -> None:
    """End a campaign for good; recipients who have not been sent to are skipped."""
    _tell([_move(cancel, name)], json)


def _move(action: Callable[..., Awaitable[Moved]], name: str) -> Moved:
    """`action(connection, name, actor=…)`, of the service."""
    return with_connection(lambda connection: action(connection, name, actor=actor()))


def _tell(moved: list[Moved], json: bool, nobody: str = "no campaign is scheduled or running") -> None:
    if json:
        campaigns = [
            {
                "name": one.name,
                "state": one.state,
                "changed": one.changed,
                "skipped": one.skipped,
                "nobody_sends": one.nobody_sends,
            }
            for one in moved
        ]
        print_json({"schema": 1, "campaigns": campaigns})
        return
    for one in moved:
        skipped = f", {one.skipped:,} skipped" if one.skipped else ""
        typer.echo(f"{one.name}: {one.state}{'' if one.changed else ' already'}{skipped}")
        if one.nobody_sends:
            note(f"{NOBODY_SENDS}; {how_to_go_on(one.name)}")
    if not moved:
        note(nobody)
