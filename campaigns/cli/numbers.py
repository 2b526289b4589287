"""`drumbeat numbers`: the business numbers and their limits."""

from dataclasses import asdict
from typing import Annotated

import typer

from campaigns.account.numbers import BusinessNumber, list_numbers, set_limit, sync_numbers
from campaigns.cli import number_at_service
from campaigns.cli.options import Json
from campaigns.cli.printing import note, print_json, print_rows
from campaigns.cli.task_runner import with_database, with_service

app = typer.Typer(
    name="numbers", help="Read, show and limit the numbers.", no_args_is_help=True, add_completion=False
)
app.add_typer(number_at_service.app)


@app.command()
def sync(json: Json = False) -> None:
    """Read the account's numbers from the service and store them."""
    _print(with_service(lambda pool, service, waba_id: sync_numbers(pool, service.numbers, waba_id)), json)


@app.command("list")
def list_stored(json: Json = False) -> None:
    """Show the numbers, their limits, and which process sends with each."""
    _print(with_database(list_numbers), json)


@app.command(context_settings={"ignore_unknown_options": True})  # -5 is refused as a rate, not an option
def limit(
    phone_number_id: Annotated[str, typer.Argument(metavar="PNID", help="The phone number ID.")],
    rate: Annotated[str, typer.Argument(help="Messages per second, or `service` for the service's limit.")],
) -> None:
    """Set the limit of a number. A running campaign follows within a second."""
    limit_per_s = None if rate == "service" else _rate(rate)
    with_database(lambda pool: set_limit(pool, phone_number_id, limit_per_s))
    note(f"{phone_number_id}: {'the limit of the service' if limit_per_s is None else f'{limit_per_s:g}/s'}")


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
        ("NUMBER", "PHONE", "NAME", "QUALITY", "TIER", "LIMIT", "RATE", "STATE"),
        [_row(number) for number in numbers],
    )


def _row(number: BusinessNumber) -> tuple[object, ...]:
    rate = "" if number.rate_per_s is None else f"{number.rate_per_s:.1f}/s"
    limit_text = f"{number.limit_per_s:g}/s{' by hand' if number.limit_is_manual else ''}"
    return (
        number.phone_number_id,
        number.display_phone_number,
        number.verified_name,
        number.quality_rating,
        number.messaging_limit_tier,
        limit_text,
        rate if number.owner else "",
        _state(number),
    )


def _state(number: BusinessNumber) -> str:
    if number.stopped:
        return f"stopped until a person resumes a campaign of it: {number.suspended_reason}"
    if number.suspended_until is not None:
        return f"suspended until {number.suspended_until:%Y-%m-%d %H:%M:%S%z}: {number.suspended_reason}"
    return f"sending: {number.owner}" if number.owner else (number.status or "").lower()
