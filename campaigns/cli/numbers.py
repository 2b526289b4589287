"""`drumbeat numbers`: the business numbers and their limits."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated

import typer

from drumbeat.campaigns.account.number_state import NumberState, number_state
from drumbeat.campaigns.account.numbers import (
    BusinessNumber,
    list_numbers,
    resume_number,
    set_limit,
    sync_numbers,
)
from drumbeat.campaigns.account.tier_warnings import tier_warning
from drumbeat.campaigns.actor import actor
from drumbeat.campaigns.cli import number_at_service
from drumbeat.campaigns.cli.options import Json
from drumbeat.campaigns.cli.printing import note, print_json, print_rows
from drumbeat.campaigns.cli.status_text import how_to_resume, quota_text
from drumbeat.campaigns.cli.task_runner import with_database, with_service
from drumbeat.campaigns.command_text import command_text

app = typer.Typer(
    name="numbers", help="Read, show and limit the numbers.", no_args_is_help=True, add_completion=False
)
app.add_typer(number_at_service.app)


@app.command()
def sync(json: Json = False) -> None:
    """Read the account's numbers from the service and store them.

    A number that the account no longer lists stays stored, with its limit and its history. This command names
    it, and the campaigns that would still send with it.
    """
    numbers = with_service(lambda pool, service, waba_id: sync_numbers(pool, service.numbers, waba_id))
    _print(numbers, json)
    for number in numbers:
        if number.unlisted_at is not None:
            users = ", ".join(number.campaigns)
            used = f"; it is a number of {users}" if users else "; no campaign that may still send has it"
            note(f"{number.phone_number_id}: not in the account since {number.unlisted_at:%Y-%m-%d}{used}")


@app.command("list")
def list_stored(json: Json = False) -> None:
    """Show the numbers and which process sends with each.

    TIER is the messaging limit, and PEOPLE how many of them were written to in the last 24 hours. LIMIT is
    what the service or you allow, PERMITTED the pace that the sender keeps to now, and RATE what it sent in
    the last seconds.
    """
    _print(with_database(list_numbers), json)


@app.command(context_settings={"ignore_unknown_options": True})  # -5 is refused as a rate, not an option
def limit(
    phone_number_id: Annotated[str, typer.Argument(metavar="PNID", help="The phone number ID.")],
    rate: Annotated[
        str, typer.Argument(help="Messages per second, 0.01 to 100000, or `service` for the service's limit.")
    ],
) -> None:
    """Set the limit of a number. A running campaign follows within a second."""
    limit_per_s = None if rate == "service" else _rate(rate)
    with_database(lambda pool: set_limit(pool, phone_number_id, limit_per_s, actor=actor()))
    note(f"{phone_number_id}: {'the limit of the service' if limit_per_s is None else f'{limit_per_s:g}/s'}")


@app.command()
def resume(
    phone_number_id: Annotated[str, typer.Argument(metavar="PNID", help="The phone number ID.")],
    json: Json = False,
) -> None:
    """Let a number send again that was stopped until you decide, or that rests. Nothing else ends a stop.

    A campaign that was paused because all of its numbers were stopped stays paused; the command names it. The
    reports of the number's campaigns show who resumed it.
    """
    done = with_database(lambda pool: resume_number(pool, phone_number_id, actor=actor()))
    if json:
        print_json({"schema": 1, **asdict(done), "resumed": done.reason is not None})
        return
    typer.echo(
        f"{phone_number_id}: nothing stops it"
        if done.reason is None
        else f"{phone_number_id}: sends again (it was stopped: {done.reason})"
    )
    for name in done.paused_campaigns:
        note(f"{name}: stays paused; resume it with `{command_text('campaign', 'resume', name)}`")


def _rate(text: str) -> float:
    try:
        return float(text.removesuffix("/s"))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a rate such as 80 or 0.5", param_hint="RATE") from None


def _print(numbers: list[BusinessNumber], json: bool) -> None:
    if json:
        print_json({"schema": 1, "numbers": [asdict(number) for number in numbers]})
        return
    print_rows(
        ("NUMBER", "PHONE", "NAME", "QUALITY", "TIER", "PEOPLE", "LIMIT", "PERMITTED", "RATE", "STATE"),
        [_row(number) for number in numbers],
    )
    for number in numbers:
        if (doubt := number.tier_doubt) is not None:
            words = tier_warning(
                number.phone_number_id, number.messaging_limit_tier, doubt, number.quota_limit
            )
            note(f"warning: {words}")


def _row(number: BusinessNumber) -> tuple[object, ...]:
    limit_text = f"{number.limit_per_s:g}/s{' by hand' if number.limit_is_manual else ''}"
    rests = number.stopped or number.suspended_until is not None or number.service_away
    permitted = "" if number.rate_per_s is None or rests else f"{number.rate_per_s:.1f}/s"
    return (
        number.phone_number_id,
        number.display_phone_number,
        number.verified_name,
        number.quality_rating,
        number.messaging_limit_tier,
        quota_text(number.quota_used, number.quota_limit),
        limit_text,
        permitted,
        f"{number.achieved_per_s:.1f}/s",
        state_text(number),
    )


def state_text(number: BusinessNumber) -> str:
    """Return what the number does now, or why it does nothing."""
    match number_state(number):
        case NumberState.STOPPED:
            return f"stopped: {number.suspended_reason}; {how_to_resume(number.phone_number_id)}"
        case NumberState.RESTS:
            return f"suspended until {_time(number.suspended_until)}: {number.suspended_reason}"
        case NumberState.UNLISTED:
            return f"not in the account since {_time(number.unlisted_at)}"
        case NumberState.QUOTA:
            return f"messaging limit used up until {_time(number.quota_more_at)}"
        case NumberState.NOBODY:
            return (number.status or "").lower()
        case NumberState.AWAY:
            return "the service does not answer"
        case NumberState.SLOWED:
            return f"slowed since {_time(number.slowed_since)}, the service throttles it: {number.owner}"
        case NumberState.SENDING:
            return f"sending: {number.owner}"
        case NumberState.IDLE:
            return f"nothing to send: {number.owner}"


def _time(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S%z}"
