"""`drumbeat webhooks`: receive the service's events and apply them to the recipients."""

import re
from typing import Annotated

import typer

from drumbeat.campaigns.cli.options import DryRun, Host, Json, Port
from drumbeat.campaigns.cli.printing import print_json
from drumbeat.campaigns.cli.signals import stop_on_signals
from drumbeat.campaigns.cli.task_runner import with_service, with_settings
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.engine.api.service import Service
from drumbeat.engine.core.sanitise import sanitise
from drumbeat.engine.errors import UsageError
from drumbeat.engine.notifications.event_sender import sending_events
from drumbeat.engine.notifications.notifier import notifying
from drumbeat.engine.process.probes import PATHS as PROBES
from drumbeat.engine.process.secret_file import SecretFile
from drumbeat.engine.process.settings import RereadSecret, Settings, load_settings, secret_path
from drumbeat.engine.store.database import Pool
from drumbeat.engine.webhooks.receiver import CALLBACK_PATH, Secrets
from drumbeat.engine.webhooks.reconciler import Intervals
from drumbeat.engine.webhooks.reread import Reread, reread
from drumbeat.engine.webhooks.server import POOL_CONNECTIONS
from drumbeat.engine.webhooks.server import serve as serve_webhooks

_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+/?")
_SECRETS: tuple[RereadSecret, RereadSecret] = ("app_secret", "verify_token")

app = typer.Typer(
    name="webhooks", help="Receive the service's events.", no_args_is_help=True, add_completion=False
)


@app.callback()
def group() -> None:
    """Receive the service's events."""


@app.command()
def serve(
    host: Host = "127.0.0.1",
    port: Port = 8080,
    path: Annotated[
        str, typer.Option(help="Path of the callback, with or without a slash at its end.", metavar="PATH")
    ] = CALLBACK_PATH,
) -> None:
    """Receive events until stopped. The same server has /livez, /readyz and /metrics.

    One JSON line on stdout says when it listens, and where. New secrets in their files need no restart.
    """
    require_path(path)
    secrets = _SecretFiles(load_settings())  # a missing secret is reported before the database starts

    async def task(pool: Pool, settings: Settings) -> int:
        with stop_on_signals() as stop:
            async with (
                notifying(pool, settings.notifications(), stop.event),
                sending_events(pool),
            ):
                await serve_webhooks(
                    pool,
                    secrets.present,
                    settings.product,
                    host=host,
                    port=port,
                    stop=stop.event,
                    on_listening=_announce,
                    accounts=[settings.waba_id] if settings.waba_id else (),
                    intervals=Intervals(silence_s=settings.silence_s),
                    reread=secrets.reread,
                    path=path,
                    installation=settings.installation,
                )
        return stop.exit_code

    raise typer.Exit(with_settings(task, size=POOL_CONNECTIONS, by_key=True))


def require_path(path: str) -> None:
    """Raise UsageError unless the path can be that of the callback."""
    if _PATH.fullmatch(path) is None or path.rstrip("/").encode() in PROBES:
        raise UsageError(f"--path {path!r} cannot be used", remedy="give one such as /drumbeat/webhook")


@app.command("reread")
def reread_events(dry_run: DryRun = False, json: Json = False) -> None:
    """Read the events again that could not be read when they came, as after an upgrade. A repeat changes
    nothing. What still cannot be read stays, with its time.
    """

    async def task(pool: Pool, settings: Settings) -> Reread:
        accounts = frozenset([settings.waba_id] if settings.waba_id else ())
        return await reread(pool, settings.product, accounts, dry_run=dry_run)

    found = with_settings(task)
    if json:
        print_json({"schema": 1, "dry_run": dry_run, **found.as_json()})
        return
    verb = "can be read" if dry_run else "read"
    typer.echo(f"{pluralise(found.read, 'event')} {verb}, {sum(found.left.values()):,} left")
    for problem, count in found.left.most_common():
        typer.echo(f"  {count:,}: {sanitise(problem)}")


@app.command()
def subscribe(
    callback: Annotated[
        str | None,
        typer.Option(help="Callback for this account alone, instead of the app's.", metavar="URL"),
    ] = None,
    json: Json = False,
) -> None:
    """Give the token's app the events of the account, so that statuses, replies and opt-outs arrive.

    The service tries a callback at once: `webhooks serve` must run, and its address must be reached.
    """
    token = load_settings().required_secret("verify_token").get_secret_value() if callback else None

    async def task(_: Pool, service: Service, waba_id: str) -> str:
        subscriptions = service.subscriptions
        await subscriptions.add_app(waba_id, override_callback_uri=callback, verify_token=token)
        return waba_id

    waba_id = with_service(task)
    if json:
        print_json({"schema": 1, "waba_id": waba_id, "subscribed": True, "callback": callback})
    else:
        typer.echo(f"the app gets the events of account {waba_id}; `drumbeat doctor` tries the way")


class _SecretFiles:
    """The secrets of the receiver, and the files that they are read from again."""

    def __init__(self, settings: Settings) -> None:
        self._app_secret, self._verify_token = (
            SecretFile(name, settings.required_secret(name), secret_path(name)) for name in _SECRETS
        )

    @property
    def present(self) -> Secrets:
        return Secrets(self._app_secret.value, self._verify_token.value)

    def reread(self) -> Secrets | None:
        """Return the secrets if one of them was replaced, else None."""
        replaced = [file.refresh() for file in (self._app_secret, self._verify_token)]
        return self.present if any(replaced) else None


def _announce(url: str) -> None:
    print_json({"event": "listening", "url": url})
    typer.get_text_stream("stdout").flush()
