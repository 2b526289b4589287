"""`drumbeat emulator serve`: the messaging service on this machine, for first days, tests and benchmarks."""

from pathlib import Path
from typing import Annotated

import typer

from emulator.config import ConfigError, EmulatorConfig, parse_fault, parse_number
from emulator.faults.table import EXCHANGE_KINDS, STATUS_KINDS
from emulator.scenario import read_scenario
from emulator.server import EXIT_CONFIGURATION
from emulator.server import serve as serve_emulator

app = typer.Typer(name="emulator", help="The messaging service, emulated.", no_args_is_help=True)

_DEFAULTS = EmulatorConfig()
FAULT_HELP = f"What goes wrong, again for more. KIND: {', '.join([*EXCHANGE_KINDS, *STATUS_KINDS])}."


@app.callback()
def group() -> None:
    """The messaging service, emulated."""


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = _DEFAULTS.host,
    port: Annotated[int, typer.Option(help="Port; 0 takes any free one.", min=0, max=65535)] = _DEFAULTS.port,
    number: Annotated[
        list[str] | None,
        typer.Option(metavar="PNID:RATE", help="A number and its messages per second; again for more."),
    ] = None,
    token: Annotated[str, typer.Option(help="The access token.")] = _DEFAULTS.token,
    app_secret: Annotated[str, typer.Option(help="Signs the events.")] = _DEFAULTS.app_secret,
    waba: Annotated[str, typer.Option(help="Id of the business account.")] = _DEFAULTS.waba,
    product: Annotated[str, typer.Option(help="The product's word in identifiers.")] = _DEFAULTS.product,
    callback: Annotated[
        str | None, typer.Option(help="URL that events are posted to; without one none are.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides every chance.")] = _DEFAULTS.seed,
    latency_ms: Annotated[float, typer.Option(help="Added to each reply to a send.", min=0)] = 0.0,
    fault: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND:PROBABILITY[,key=value]", help=FAULT_HELP),
    ] = None,
    scenario: Annotated[
        Path | None, typer.Option(help="TOML file of faults and the seed.", exists=True, dir_okay=False)
    ] = None,
    status_delay: Annotated[
        float, typer.Option(help="Factor on the delays of statuses; 0: at once.", min=0)
    ] = 1.0,
    statuses: Annotated[bool, typer.Option("--statuses/--no-statuses", help="Send statuses.")] = True,
    events_per_post: Annotated[int, typer.Option(help="Most updates in one POST.", min=1, max=1000)] = 1000,
    undeliverable_ratio: Annotated[
        float, typer.Option(help="Share of recipients who are not on the network (131026).")
    ] = 0.0,
    failed_ratio: Annotated[
        float, typer.Option(help="Share of messages that fail after they were accepted.")
    ] = 0.0,
    read_ratio: Annotated[
        float, typer.Option(help="Share of messages that are read.")
    ] = _DEFAULTS.read_ratio,
) -> None:
    """Serve until stopped. One JSON line on stdout tells when and where it listens."""
    try:
        faults = tuple(map(parse_fault, fault or []))
        if scenario is not None:
            played = read_scenario(scenario.read_text(encoding="utf-8"))
            seed, faults = seed if played.seed is None else played.seed, (*faults, *played.faults)
        config = EmulatorConfig(
            host=host,
            port=port,
            numbers=tuple(map(parse_number, number)) if number else _DEFAULTS.numbers,
            token=token,
            app_secret=app_secret,
            waba=waba,
            product=product,
            callback=callback,
            seed=seed,
            latency_ms=latency_ms,
            faults=faults,
            status_delay=status_delay,
            statuses=statuses,
            undeliverable_ratio=undeliverable_ratio,
            failed_ratio=failed_ratio,
            events_per_post=events_per_post,
            read_ratio=read_ratio,
        )
        code = serve_emulator(config)
    except (ConfigError, UnicodeDecodeError) as error:
        typer.echo(f"emulator: {error}", err=True)
        code = EXIT_CONFIGURATION
    raise typer.Exit(code)
