"""`drumbeat campaign test-send`: the message of a campaign to one's own phones."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from drumbeat.campaigns.changing.send_message import SentToOne, run_message
from drumbeat.campaigns.cli.options import CampaignName, Json, Quiet
from drumbeat.campaigns.cli.preview import Row
from drumbeat.campaigns.cli.printing import error_part, note, print_json, print_rows
from drumbeat.campaigns.cli.signals import stop_on_signals
from drumbeat.campaigns.cli.task_runner import ready_database, run_loop, with_database, with_settings
from drumbeat.campaigns.database_errors import database_blamed
from drumbeat.campaigns.planning.header_uploads import uploads_with
from drumbeat.campaigns.preview.recipient import Choice, ChosenRecipient, choose_recipient
from drumbeat.campaigns.preview.test_send import own_phones, plan_tests
from drumbeat.campaigns.template_shares import template_text
from drumbeat.engine.app import POOL_CONNECTIONS
from drumbeat.engine.errors import DrumbeatError
from drumbeat.engine.process.settings import Settings, load_settings
from drumbeat.engine.process.telemetry import quieten
from drumbeat.engine.store.database import Pool

app = typer.Typer(add_completion=False)


@app.command()
def test_send(
    name: CampaignName,
    to: Annotated[list[str], typer.Option(help="Your phone; repeat for more.", metavar="PHONE")],
    row: Row = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Send the campaign's message to your own phones, with the values of a real recipient.

    Each message is recorded as a campaign named NAME/test-1 and so on. It changes nothing in the campaign
    itself: who gets a test gets the message of the campaign as well. A suppressed phone gets nothing.

    It is sent at once with the first number of the campaign. Each call sends again.
    """
    quieten()
    settings = load_settings()
    settings.service()  # before anything is stored
    chosen = with_database(lambda pool: choose_recipient(pool, name, Choice(row)))
    phones = own_phones(to, chosen.options.get("region"))
    url = ready_database(settings)
    with database_blamed(url):
        disk, uploads = settings.disk(), uploads_with(settings)
        names = run_loop(plan_tests(url, chosen, phones, disk=disk, open_uploads=uploads))
    if not (json or quiet):
        note(f"row {chosen.row}, {template_text(chosen.template)}")
    raise typer.Exit(_run(names, chosen, json=json))


def _run(names: list[str], chosen: ChosenRecipient, *, json: bool) -> int:
    async def main(pool: Pool, settings: Settings) -> int:
        sent: list[SentToOne] = []
        with stop_on_signals() as stop:
            for name in names:
                service, disk = settings.service(), settings.disk()
                sent += [await run_message(pool, service, name, stop=stop.event, disk=disk)]
                if stop.asked:
                    break
        problems = () if stop.asked else tuple(filter(None, (test.problem for test in sent)))
        _print(sent, chosen, problems, json=json)
        if problems:
            raise problems[0]
        return stop.exit_code

    return with_settings(main, size=POOL_CONNECTIONS, by_key=True)


def _print(
    sent: list[SentToOne], chosen: ChosenRecipient, problems: Sequence[DrumbeatError], *, json: bool
) -> None:
    if json:
        template = {"template": chosen.template.name, "language": chosen.template.language}
        problem = error_part(problems[0] if problems else None)
        print_json({"schema": 1, **template, "tests": [test.as_json() for test in sent], **problem})
        return
    rows: list[tuple[Any, ...]] = [(test.name, f"+{test.phone}", test.state, test.wamid) for test in sent]
    print_rows(("CAMPAIGN", "PHONE", "STATE", "WAMID"), rows)
