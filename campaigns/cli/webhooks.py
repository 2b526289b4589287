"""`drumbeat webhooks`: receive the service's events and apply them to the recipients."""

import typer

from campaigns.cli.options import Host, Port
from campaigns.cli.printing import print_json
from campaigns.cli.signals import stop_on_signals
from campaigns.cli.task_runner import with_settings
from engine.notifications.notifier import notifying
from engine.process.settings import Settings, load_settings
from engine.store.database import Pool
from engine.webhooks.receiver import Secrets
from engine.webhooks.reconciler import Intervals
from engine.webhooks.server import POOL_CONNECTIONS
from engine.webhooks.server import serve as serve_webhooks

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
) -> None:
    """Receive events on /webhook until stopped. The same server has /livez, /readyz and /metrics.

    One JSON line on stdout says when it listens, and where.
    """
    secrets = _secrets(load_settings())  # a missing secret is reported before the database starts

    async def task(pool: Pool, settings: Settings) -> int:
        with stop_on_signals() as stop:
            async with notifying(pool, settings.notifications(), stop.event):
                await serve_webhooks(
                    pool, secrets, settings.product, host=host, port=port, stop=stop.event,
                    on_listening=_announce, intervals=Intervals(silence_s=settings.silence_s),
                )  # fmt: skip
        return stop.exit_code

    raise typer.Exit(with_settings(task, size=POOL_CONNECTIONS, by_key=True))


def _secrets(settings: Settings) -> Secrets:
    return Secrets(settings.required_secret("app_secret"), settings.required_secret("verify_token"))


def _announce(url: str) -> None:
    print_json({"event": "listening", "url": url})
    typer.get_text_stream("stdout").flush()
