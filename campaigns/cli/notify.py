"""`drumbeat notify`: test the channels of notifications."""

import typer
import uvloop

from drumbeat.campaigns.cli.options import Json
from drumbeat.campaigns.cli.printing import print_json
from drumbeat.engine.core.notification import Attempt, Channel, Verdict
from drumbeat.engine.errors import AuthenticationError, ConfigurationError, DrumbeatError, Unreachable
from drumbeat.engine.notifications.channels import open_channels, tell_test
from drumbeat.engine.process.notification_settings import NotificationSettings
from drumbeat.engine.process.settings import load_settings

app = typer.Typer(
    name="notify",
    help="Tell people about campaigns, by webhook and mail.",
    no_args_is_help=True,
    add_completion=False,
)

_ERRORS: dict[Verdict, type[DrumbeatError]] = {
    Verdict.UNREACHABLE: Unreachable,
    Verdict.UNAUTHORISED: AuthenticationError,
    Verdict.REFUSED: ConfigurationError,
    Verdict.GONE: ConfigurationError,
}


@app.callback()
def group() -> None:
    """Tell people about campaigns, by webhook and mail."""


@app.command("test")
def send_test(json: Json = False) -> None:
    """Send one test message over every channel that is set up, and say whether it arrived.

    Exit codes: 0 all arrived; 69 no answer; 77 refused as not authorised; 78 refused, or not set up.
    """
    results = uvloop.run(_tell_all(load_settings().notifications()))
    if json:
        channels = [
            {"channel": channel, "verdict": attempt.verdict, "problem": attempt.problem}
            for channel, attempt in results.items()
        ]
        print_json({"schema": 1, "channels": channels})
    else:
        for channel, attempt in results.items():
            problem = f": {attempt.problem}" if attempt.problem else ""
            typer.echo(f"{channel}: {attempt.verdict}{problem}")
    raise typer.Exit(next((_exit_code(each) for each in results.values() if _exit_code(each)), 0))


async def _tell_all(settings: NotificationSettings) -> dict[Channel, Attempt]:
    channels = open_channels(settings)
    if not channels:
        raise ConfigurationError(
            "no channel is set up", remedy="set DRUMBEAT_NOTIFY_URL, or DRUMBEAT_NOTIFY_MAIL_TO"
        )
    return {channel.channel: await tell_test(channel) for channel in channels}


def _exit_code(attempt: Attempt) -> int:
    error = _ERRORS.get(attempt.verdict)
    return 0 if error is None else error.exit_code
