"""`drumbeat console`: serves the console, and manages who may use it."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from drumbeat.campaigns.actor import actor
from drumbeat.campaigns.cli.confirmation import confirm
from drumbeat.campaigns.cli.options import Host, Json, MetricsHost, Port, Yes
from drumbeat.campaigns.cli.printing import note, print_json, print_rows
from drumbeat.campaigns.cli.signals import stop_on_signals
from drumbeat.campaigns.cli.task_runner import ready_database, run_loop, with_database
from drumbeat.campaigns.console.web import users as people
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.database_errors import database_blamed
from drumbeat.engine.errors import ConfigurationError, UsageError
from drumbeat.engine.process.settings import load_settings
from drumbeat.engine.store.database import open_pool

STANDARD_INPUT = Path("-")

app = typer.Typer(
    name="console",
    help="Serve the console, and manage its users.",
    no_args_is_help=True,
    add_completion=False,
)
users = typer.Typer(help="Manage the users of the console.", no_args_is_help=True, add_completion=False)
tokens = typer.Typer(help="Manage the tokens of programs.", no_args_is_help=True, add_completion=False)
app.add_typer(users, name="user")
app.add_typer(tokens, name="token")

RoleOption = Annotated[
    Role,
    typer.Option(
        "--role",
        help="look: see everything. send: also create and steer campaigns. manage: also limits, users and"
        " tokens.",
    ),
]
UserName = Annotated[str, typer.Argument(help="The user's name.", metavar="NAME")]
TokenName = Annotated[str, typer.Argument(help="The token's name.", metavar="NAME")]
PasswordFile = Annotated[
    Path | None,
    typer.Option(help="File with the password; - is stdin. Default: ask.", metavar="FILE"),
]


@app.callback()
def group() -> None:
    """Serve the console, and manage its users."""


@app.command()
def serve(
    host: Host = "127.0.0.1",
    port: Port = 8082,
    metrics_port: Annotated[
        int,
        typer.Option(help="Port of /metrics, /livez and /readyz; 0 picks a free one.", min=0, max=65535),
    ] = 8083,
    metrics_host: MetricsHost = None,
    no_metrics: Annotated[bool, typer.Option("--no-metrics", help="Serve no metrics.")] = False,
) -> None:
    """Serve the console and its API, /api/v1, until stopped.

    One JSON line on stdout says when it listens, and where. Without users it serves only this machine.
    """
    from drumbeat.campaigns.console.server import POOL_CONNECTIONS, running_console  # imports aiohttp.web

    settings = load_settings(metrics_host=metrics_host)
    metrics = None if no_metrics else settings.metrics_at(metrics_port)
    url = ready_database(settings)

    async def main() -> int:
        async with open_pool(url, size=POOL_CONNECTIONS) as pool:
            with stop_on_signals() as stop:
                async with running_console(
                    pool, url, settings, host=host, port=port, stop=stop.event, metrics=metrics
                ) as address:
                    _announce(address)
                    await stop.event.wait()
        return stop.exit_code

    with database_blamed(url):
        raise typer.Exit(run_loop(main()))


def _announce(url: str) -> None:
    print_json({"event": "listening", "url": url})
    typer.get_text_stream("stdout").flush()


@users.command("add")
def add_user(
    name: UserName,
    role: RoleOption,
    password_file: PasswordFile = None,
    no_password: Annotated[
        bool, typer.Option("--no-password", help="Add a user whom a trusted proxy signs in.")
    ] = False,
) -> None:
    """Add a user, or give one another role and password. A new password ends the user's sessions."""
    if no_password and password_file is not None:
        raise UsageError("--no-password and --password-file contradict each other", remedy="give one of them")
    password = None if no_password else _read_password(password_file)
    with_database(lambda pool: people.store_user(pool, name, role, password, actor=actor()), size=1)
    typer.echo(f"{name}: {role}")


@users.command("list")
def list_users(json: Json = False) -> None:
    """Show the users and how many sessions each has."""
    found = with_database(people.list_users, size=1)
    if json:
        print_json({"schema": 1, "users": found})
        return
    rows = [(user.name, user.role, "yes" if user.has_password else "no", user.sessions) for user in found]
    print_rows(("NAME", "ROLE", "PASSWORD", "SESSIONS"), rows)


@users.command("remove")
def remove_user(name: UserName, yes: Yes = False) -> None:
    """Remove a user and end the user's sessions. Without any user, the console serves only this machine."""
    confirm(f"Remove the user {name}?", yes=yes)
    with_database(lambda pool: people.remove_user(pool, name, actor=actor()), size=1)
    typer.echo(f"{name}: removed")


@users.command("sign-out")
def sign_out(name: UserName) -> None:
    """End all sessions of a user."""
    with_database(lambda pool: people.end_sessions_of(pool, name, actor=actor()), size=1)
    typer.echo(f"{name}: signed out")


@tokens.command("add")
def add_token(name: TokenName, role: RoleOption) -> None:
    """Make a token for a program and print it. It is not stored, so nobody can print it again."""
    typer.echo(with_database(lambda pool: people.add_token(pool, name, role, actor=actor()), size=1))
    note("send it as: Authorization: Bearer TOKEN")


@tokens.command("list")
def list_tokens(json: Json = False) -> None:
    """Show the tokens, without their secrets."""
    found = with_database(people.list_tokens, size=1)
    if json:
        print_json({"schema": 1, "tokens": found})
        return
    print_rows(
        ("NAME", "ROLE", "CREATED"),
        [(token.name, token.role, f"{token.created_at:%Y-%m-%d %H:%MZ}") for token in found],
    )


@tokens.command("remove")
def remove_token(name: TokenName, yes: Yes = False) -> None:
    """Remove a token. From then on it is refused."""
    confirm(f"Remove the token {name}?", yes=yes)
    with_database(lambda pool: people.remove_token(pool, name, actor=actor()), size=1)
    typer.echo(f"{name}: removed")


def _read_password(file: Path | None) -> str:
    if file is None:
        if not sys.stdin.isatty():
            raise UsageError("no terminal can ask for the password", remedy="name it with --password-file")
        password: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return password
    try:
        text = sys.stdin.readline() if file == STANDARD_INPUT else file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise ConfigurationError(f"the password cannot be read: {reason}", where=str(file)) from None
    return text.rstrip("\r\n")
