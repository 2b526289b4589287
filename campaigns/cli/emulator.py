"""`drumbeat emulator serve`: the messaging service on this machine, for first days, tests and benchmarks."""

from pathlib import Path
from typing import Annotated

import typer

from drumbeat.campaigns.cli import ledger
from drumbeat.campaigns.cli.options import Host, Port, Seed
from drumbeat.emulator.config import JITTER_LIMIT, ConfigError, EmulatorConfig, parse_fault, parse_number
from drumbeat.emulator.faults.table import EXCHANGE_KINDS, POST_KINDS, STATUS_KINDS
from drumbeat.emulator.scenario import read_scenario
from drumbeat.emulator.server import serve as serve_emulator
from drumbeat.engine.errors import ConfigurationError

app = typer.Typer(name="emulator", help="Emulate the messaging service.", no_args_is_help=True)
app.add_typer(ledger.app)

_DEFAULTS = EmulatorConfig()

Numbers = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PNID:RATE[:TIER]",
        help="A number, its messages per second, and its messaging limit, such as TIER_1K; repeat for more.",
    ),
]
TlsCert = Annotated[
    Path | None,
    typer.Option(
        help="File with a certificate (PEM), to be served by HTTPS. Needs --tls-key.", dir_okay=False
    ),
]
TlsKey = Annotated[
    Path | None, typer.Option(help="File with the key of the certificate (PEM).", dir_okay=False)
]
QuotaScope = Annotated[
    str,
    typer.Option(help="Scope of a messaging limit: each `number`, or all numbers of the `account` together."),
]
Token = Annotated[str, typer.Option(help="The access token.")]
AppSecret = Annotated[str, typer.Option(help="Secret that signs the events.")]
Waba = Annotated[str, typer.Option(help="Id of the business account.")]
Product = Annotated[str, typer.Option(help="Word for the product in the service's identifiers.")]
Callback = Annotated[str | None, typer.Option(help="URL to post events to; default: no events.")]
Latency = Annotated[
    float, typer.Option(help="Delay of each reply to a send, in milliseconds.", min=0, metavar="MS")
]
Jitter = Annotated[
    float,
    typer.Option(
        help="Sigma of the lognormal spread of these delays, whose median is --latency-ms; 0 means none.",
        min=0,
        max=JITTER_LIMIT,
        metavar="SIGMA",
    ),
]
Faults = Annotated[
    list[str] | None,
    typer.Option(metavar="FAULT", help="A fault of the form above; repeat for more."),
]
Scenario = Annotated[
    Path | None, typer.Option(help="TOML file of faults and the seed.", exists=True, dir_okay=False)
]
StatusDelay = Annotated[
    float, typer.Option(help="Factor for the delays of statuses; 0 means no delay.", min=0, metavar="FACTOR")
]
NoStatuses = Annotated[bool, typer.Option("--no-statuses", help="Send no statuses.")]
EventsPerPost = Annotated[int, typer.Option(help="Largest number of updates in one POST.", min=1, max=1000)]
Undeliverable = Annotated[
    float, typer.Option(help="Share of recipients not on the network (131026).", metavar="SHARE")
]
Failed = Annotated[
    float, typer.Option(help="Share of messages that fail after they were accepted.", metavar="SHARE")
]
Read = Annotated[float, typer.Option(help="Share of messages that are read.", metavar="SHARE")]


@app.callback()
def group() -> None:
    """Emulate the messaging service."""


# The kinds are listed here, because the narrow column of an option would cut their names.
@app.command(
    help="Serve until stopped. One JSON line on stdout says when it listens, and where.\n\n"
    "A FAULT is KIND:PROBABILITY[,key=value], of one of these kinds: "
    f"{', '.join([*EXCHANGE_KINDS, *STATUS_KINDS, *POST_KINDS])}."
)
def serve(
    host: Host = _DEFAULTS.host,
    port: Port = _DEFAULTS.port,
    number: Numbers = None,
    token: Token = _DEFAULTS.token,
    app_secret: AppSecret = _DEFAULTS.app_secret,
    waba: Waba = _DEFAULTS.waba,
    product: Product = _DEFAULTS.product,
    callback: Callback = None,
    seed: Seed = _DEFAULTS.seed,
    latency_ms: Latency = 0.0,
    jitter: Jitter = 0.0,
    fault: Faults = None,
    scenario: Scenario = None,
    status_delay: StatusDelay = 1.0,
    no_statuses: NoStatuses = False,
    events_per_post: EventsPerPost = 1000,
    undeliverable_ratio: Undeliverable = 0.0,
    failed_ratio: Failed = 0.0,
    read_ratio: Read = _DEFAULTS.read_ratio,
    quota_scope: QuotaScope = _DEFAULTS.quota_scope,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
) -> None:
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
            jitter=jitter,
            faults=faults,
            status_delay=status_delay,
            statuses=not no_statuses,
            undeliverable_ratio=undeliverable_ratio,
            failed_ratio=failed_ratio,
            events_per_post=events_per_post,
            read_ratio=read_ratio,
            quota_scope=quota_scope,
            tls_cert=tls_cert,
            tls_key=tls_key,
        )
        code = serve_emulator(config)
    except (ConfigError, UnicodeDecodeError) as error:
        raise ConfigurationError(str(error)) from error
    raise typer.Exit(code)
