"""`drumbeat webhooks`: receive the service's events and apply them to the recipients."""

import typer

from drumbeat.campaigns.cli.options import Host, Port
from drumbeat.campaigns.cli.printing import print_json
from drumbeat.campaigns.cli.signals import stop_on_signals
from drumbeat.campaigns.cli.task_runner import with_settings
from drumbeat.engine.notifications.notifier import notifying
from drumbeat.engine.process.secret_file import SecretFile
from drumbeat.engine.process.settings import RereadSecret, Settings, load_settings, secret_path
from drumbeat.engine.store.database import Pool
from drumbeat.engine.webhooks.receiver import Secrets
from drumbeat.engine.webhooks.reconciler import Intervals
from drumbeat.engine.webhooks.server import POOL_CONNECTIONS
from drumbeat.engine.webhooks.server import serve as serve_webhooks

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
) -> None:
    """Receive events on /webhook until stopped. The same server has /livez, /readyz and /metrics.

    One JSON line on stdout says when it listens, and where. New secrets in their files need no restart.
    """
    secrets = _SecretFiles(load_settings())  # a missing secret is reported before the database starts

    async def task(pool: Pool, settings: Settings) -> int:
        with stop_on_signals() as stop:
            async with notifying(pool, settings.notifications(), stop.event):
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
                )
        return stop.exit_code

    raise typer.Exit(with_settings(task, size=POOL_CONNECTIONS, by_key=True))


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
