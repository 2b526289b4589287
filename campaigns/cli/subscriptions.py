"""`drumbeat subscriptions`: programs that hear what happens to recipients."""

from pathlib import Path
from typing import Annotated

import typer

from drumbeat.campaigns.actor import actor
from drumbeat.campaigns.cli.confirmation import confirm
from drumbeat.campaigns.cli.options import Json, Yes
from drumbeat.campaigns.cli.printing import note, print_json, print_rows
from drumbeat.campaigns.cli.task_runner import with_database
from drumbeat.campaigns.results.subscriptions import (
    Subscription,
    add_subscription,
    find_subscription,
    list_subscriptions,
    remove_subscription,
)
from drumbeat.engine.core.recipient_event import EventKind
from drumbeat.engine.core.sanitise import sanitise
from drumbeat.engine.errors import ConfigurationError

app = typer.Typer(
    name="subscriptions",
    help="Tell programs what happens to recipients.",
    no_args_is_help=True,
    add_completion=False,
)
Name = Annotated[str, typer.Argument(help="The subscription's name.", metavar="NAME")]


@app.callback()
def group() -> None:
    """Tell programs what happens to recipients."""


@app.command()
def add(
    name: Name,
    url: Annotated[
        str | None,
        typer.Option(help="Where events are posted, https only. Default: the program fetches them."),
    ] = None,
    secret_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the secret that signs what is posted. Default: one is made.", metavar="FILE"
        ),
    ] = None,
    campaign: Annotated[
        str | None, typer.Option(help="Only events of this campaign.", metavar="NAME")
    ] = None,
    kind: Annotated[
        list[EventKind] | None, typer.Option(help="Only events of this kind; repeat for several.")
    ] = None,
    json: Json = False,
) -> None:
    """Subscribe a program to what happens from now on, and print the secret. It is not shown again.

    `webhooks serve` posts the events. While there is no subscription, no events are kept.
    """
    secret = None if secret_file is None else _read(secret_file)
    added = with_database(
        lambda pool: add_subscription(
            pool, name, url=url, secret=secret, campaign=campaign, kinds=kind or (), actor=actor()
        )
    )
    if json:
        print_json({"schema": 1, "name": added.name, "secret": added.secret, "after": added.after})
    elif added.secret is not None:
        typer.echo(added.secret)
        note("check with it who posts: see the header Drumbeat-Signature")
    else:
        note(f"fetch its events: GET /api/v1/events?after={added.after}")


@app.command("list")
def list_all(json: Json = False) -> None:
    """Show the subscriptions and how far each is delivered, without their secrets."""
    found = with_database(list_subscriptions)
    if json:
        print_json({"schema": 1, "subscriptions": found})
        return
    print_rows(
        ("NAME", "CAMPAIGN", "WAITING", "PROBLEM", "URL"),
        [
            (
                each.name,
                sanitise(each.campaign or "all"),
                each.waiting,
                sanitise(each.problem or ""),
                each.url,
            )
            for each in found
        ],
    )


@app.command()
def show(name: Name, json: Json = False) -> None:
    """Show one subscription: what it hears, how far it is, and why the last attempt failed."""
    found = with_database(lambda pool: find_subscription(pool, name))
    if json:
        print_json({"schema": 1, "subscription": found})
        return
    for label, value in _lines(found):
        typer.echo(f"{label:<14}{value}")


@app.command()
def remove(name: Name, yes: Yes = False) -> None:
    """Remove a subscription. Nothing is posted to it from then on."""
    confirm(f"Remove the subscription {name}?", yes=yes)
    with_database(lambda pool: remove_subscription(pool, name, actor=actor()))
    typer.echo(f"{name}: removed")


def _lines(found: Subscription) -> list[tuple[str, object]]:
    lines: list[tuple[str, object]] = [
        ("url", found.url or "none: the program fetches its events"),
        ("campaign", sanitise(found.campaign or "all")),
        ("kinds", ", ".join(found.kinds)),
        ("since", f"{found.created_at:%Y-%m-%d %H:%MZ}"),
    ]
    if found.waiting is not None:
        lines += [("taken through", found.through_id), ("waiting", found.waiting)]
    if found.next_attempt_at is not None:
        problem = sanitise(found.problem or "")
        lines += [
            ("failed", f"{found.attempts} times; the last time: {problem}"),
            ("next attempt", f"{found.next_attempt_at:%Y-%m-%d %H:%M:%SZ}"),
        ]
    if found.lost:
        lines.append(("lost", f"{found.lost} events grew too old before they were taken"))
    return lines


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "it is not UTF-8"
        raise ConfigurationError(f"the secret cannot be read: {problem}", where=str(file)) from error
