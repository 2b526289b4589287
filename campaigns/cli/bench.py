"""`drumbeat bench`: measures how fast this machine sends, writes a report, and compares two reports."""

import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import orjson
import typer

from drumbeat.benchmarks.harness.results import Load
from drumbeat.benchmarks.report.content import FILE_NAME, report_of
from drumbeat.benchmarks.report.text import (
    Table,
    conditions_rows,
    headline,
    latency_tables,
    notes,
    pace_table,
    scaling_table,
    senders_table,
    stages_table,
    warnings,
)
from drumbeat.benchmarks.suite import (
    DEFAULT_PARTS,
    NUMBERS,
    OWN_DATABASE_PARTS,
    PARTS,
    USED_OPTIONS,
    Part,
    SuiteRequest,
    duration_s,
    measurements,
    numbers_by_default,
    run_suite,
    unused,
)
from drumbeat.campaigns.cli.bench_compare import compare
from drumbeat.campaigns.cli.bench_progress import progress_of
from drumbeat.campaigns.cli.options import Json, Quiet
from drumbeat.campaigns.cli.printing import note, print_json, print_rows
from drumbeat.campaigns.duration import duration as in_words
from drumbeat.engine.errors import ConfigurationError, UsageError
from drumbeat.engine.process.telemetry import configure_logging

app = typer.Typer(name="bench", invoke_without_command=True, add_completion=False)

NUMBERS_MAX, PROCESSES_MAX, REPEATS_MAX = 256, 16, 20
RATE_PER_S_MAX = 10_000.0
DURATION_S_MIN, DURATION_S_MAX = 2.0, 120.0
LATENCY_MS_MAX = 5_000.0
JITTER_MAX = 2.0  # at 2, one reply in a thousand takes five hundred times the median
MESSAGES_MIN = 20  # a number's least; its first half second is not measured


Duration = Annotated[
    float,
    typer.Option(
        help="Seconds of each measurement; a baseline takes 5 at most.",
        min=DURATION_S_MIN,
        max=DURATION_S_MAX,
    ),
]
Numbers = Annotated[
    int | None,
    typer.Option(help=f"Business numbers; default: {NUMBERS}, for pacing alone 1.", min=1, max=NUMBERS_MAX),
]
Rate = Annotated[
    float, typer.Option(help="Limit of each number, messages per second.", min=1, max=RATE_PER_S_MAX)
]
Latency = Annotated[
    float,
    typer.Option(help="Reply time of the emulator, in milliseconds.", min=0, max=LATENCY_MS_MAX),
]
Jitter = Annotated[
    float,
    typer.Option(
        help="Sigma of the lognormal spread of reply times, whose median is --latency-ms; 0 means none.",
        min=0,
        max=JITTER_MAX,
        metavar="SIGMA",
    ),
]
Processes = Annotated[
    int, typer.Option(help="Engine processes that share the numbers.", min=1, max=PROCESSES_MAX)
]
Repeats = Annotated[
    int,
    typer.Option(
        help="Number of times that everything is measured; figures are medians.", min=1, max=REPEATS_MAX
    ),
]
Events = Annotated[
    bool, typer.Option("--events", help="Let the emulator send three status events for each message.")
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        help=f"Part to measure; repeat for more: {', '.join(PARTS)}. Default: all except scaling.",
        metavar="PART",
    ),
]
Service = Annotated[
    str | None, typer.Option(help="Use this running emulator; any other address is refused.", metavar="URL")
]
Tls = Annotated[
    bool, typer.Option("--tls", help="Send by HTTPS, with a certificate that `openssl` makes for the run.")
]
CaFile = Annotated[
    Path | None,
    typer.Option(
        help="Certificates (PEM) to trust, and no others, for a --service with HTTPS.",
        exists=True,
        dir_okay=False,
        metavar="FILE",
    ),
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        help="Use this Postgres: a database is made there for the run, and dropped. For parts that send.",
        metavar="URL",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(help="Directory for the report; default: bench-TIME.", metavar="DIRECTORY"),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only list what would be measured.")]


@app.callback()
def bench(
    ctx: typer.Context,
    duration: Duration = 10.0,
    numbers: Numbers = None,
    rate: Rate = 1_000.0,
    latency_ms: Latency = 0.0,
    jitter: Jitter = 0.0,
    processes: Processes = 1,
    repeats: Repeats = 3,
    events: Events = False,
    only: Only = None,
    service: Service = None,
    tls: Tls = False,
    ca_file: CaFile = None,
    database: DatabaseUrl = None,
    output: Output = None,
    dry_run: DryRun = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how fast this machine plans, sends and receives. Sends only to an emulator.

    Each part is measured beside a baseline. throughput: the engine beside simpler senders. pacing: how close
    a number comes to its limit. planning: an audience beside a bare COPY. receiving: status events beside a
    bare server. applying: statuses applied to recipients beside a bare UPDATE. scaling: the cost of a message
    by recipients, numbers and processes, at fixed loads. An option that no chosen part uses is refused.

    The bench starts its own emulator and Postgres and removes them afterwards. It uses none of your settings,
    and no real person gets a message. It writes report.json to the output directory.
    """
    if ctx.invoked_subcommand is not None:
        return
    parts = _parts(only, apart_database=database is not None)
    _check_given(ctx, parts)
    load = Load(
        numbers=numbers or numbers_by_default(parts),
        rate_per_s=rate,
        latency_ms=latency_ms,
        jitter=jitter,
        processes=processes,
        duration_s=duration,
        events=events,
        tls=tls or (service or "").startswith("https:"),
    )
    command = _shown(shlex.join(("drumbeat", *sys.argv[1:])), database)
    request = SuiteRequest(load, repeats, parts, service, command, tls, ca_file, database)
    _check(request)
    if dry_run:
        _print_plan(request, as_json=json)
        return
    configure_logging(level="warning")
    _show(_measure(request, output, quiet=quiet, as_json=json), as_json=json)


app.command("compare")(compare)


def _shown(command: str, database: str | None) -> str:
    """Return the command for the report, without the password of the database."""
    if database is None:
        return command
    parts = urlsplit(database)
    plain = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="")
    return command.replace(shlex.quote(database), shlex.quote(plain.geturl())).replace(
        database, plain.geturl()
    )


def _parts(only: list[str] | None, *, apart_database: bool) -> tuple[Part, ...]:
    unknown = [word for word in only or () if word not in PARTS]
    if unknown:
        raise UsageError(
            f"--only {unknown[0]!r} is not a part of the bench", remedy=f"choose from {', '.join(PARTS)}"
        )
    if not only:
        return tuple(part for part in DEFAULT_PARTS if not (apart_database and part in OWN_DATABASE_PARTS))
    if apart_database and (wrong := OWN_DATABASE_PARTS.intersection(only)):
        raise UsageError(
            f"{min(wrong)} measures a Postgres of the bench's own",
            remedy="leave out --database, or measure throughput, pacing or scaling with it",
        )
    return tuple(part for part in PARTS if part in only)


def _check_given(ctx: typer.Context, parts: tuple[Part, ...]) -> None:
    """Refuse an option that no chosen part uses: the figures would seem to be of it."""
    options = sorted(frozenset[str]().union(*USED_OPTIONS.values()))
    given = [name for name in options if _is_given(ctx, name)]
    for name in unused(parts, given):
        users = ", ".join(part for part in PARTS if name in USED_OPTIONS[part])
        raise UsageError(
            f"--{name.replace('_', '-')} changes nothing of {', '.join(parts)}",
            remedy=f"leave it out, or measure one of {users}",
        )


def _is_given(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _check(request: SuiteRequest) -> None:
    load = request.load
    if load.processes > load.numbers:
        raise UsageError("each process needs its own number: give at least as many --numbers as --processes")
    if load.rate_per_s * (load.duration_s or 0.0) < MESSAGES_MIN:
        raise UsageError(
            f"at this --rate a number sends fewer than {MESSAGES_MIN} messages, too few to measure:"
            " give a higher --rate or a longer --duration"
        )
    if request.service is not None and load.events:
        raise UsageError("--events needs the bench's own emulator: leave out --service")
    if request.service is not None and load.latency_ms:
        raise UsageError("a running emulator has its own latency: leave out --latency-ms, or --service")
    if request.service is not None and request.tls:
        raise UsageError("a running emulator speaks HTTP or HTTPS already: leave out --tls, or --service")
    if request.ca_file is not None and not (request.service or "").startswith("https:"):
        raise UsageError("--ca-file is for a --service with HTTPS: give its https:// address")
    if load.jitter and not load.latency_ms:
        raise UsageError("--jitter spreads the reply times around --latency-ms: give one above 0")


def _print_plan(request: SuiteRequest, *, as_json: bool) -> None:
    if as_json:
        planned = [
            {"what": found.title, "amount": found.amount, "repeats": request.repeats}
            for found in measurements(request)
        ]
        print_json({"schema": 1, "measurements": planned, "takes_s": round(duration_s(request), 1)})
        return
    times = "once" if request.repeats == 1 else f"{request.repeats} times"
    for found in measurements(request):
        typer.echo(f"{found.title}, {found.amount}, {times}")
    typer.echo(f"about {in_words(duration_s(request))} in all")


def _measure(request: SuiteRequest, output: Path | None, *, quiet: bool, as_json: bool) -> dict[str, Any]:
    target = output or Path(f"bench-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
    with _directory(target) as directory:
        with progress_of(request.repeats * len(measurements(request)), quiet=quiet) as listener:
            report = report_of(run_suite(request, listener))
        try:
            _write(
                directory / FILE_NAME,
                orjson.dumps(report, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE),
            )
        except ConfigurationError:
            _show(report, as_json=as_json)  # the figures took minutes to measure
            raise
    if not quiet:
        note(f"the report is in {target / FILE_NAME}")
    return report


@contextmanager
def _directory(target: Path) -> Iterator[Path]:
    """Create the directory of the report; if no report follows, remove what was created."""
    new = not target.exists()
    if (target / FILE_NAME).exists():
        raise ConfigurationError(
            "the directory has a report already", where=str(target), remedy="name another --output"
        )
    try:
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=target):  # fails now, and not after minutes of measuring
            pass
    except FileExistsError:
        raise ConfigurationError("the target of the report is not a directory", where=str(target)) from None
    except OSError as error:
        raise ConfigurationError(
            f"the report cannot be written: {error.strerror}", where=str(target)
        ) from error
    try:
        yield target
    except BaseException:
        if new:
            with suppress(OSError):  # not empty: another program has put something there
                target.rmdir()
        raise


def _write(path: Path, content: bytes) -> None:
    part = path.with_name(f".{path.name}.part")
    try:
        part.unlink(missing_ok=True)  # a bench that was killed may have left it
        with part.open("xb") as file:  # mode x follows no link
            file.write(content)
        part.replace(path)
    except OSError as error:
        raise ConfigurationError(
            f"the report cannot be written: {error.strerror}", where=str(path)
        ) from error
    finally:
        with suppress(OSError):  # a read-only disk is already reported
            part.unlink(missing_ok=True)


def _show(report: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    for warning in warnings(report):
        typer.echo(f"warning: {warning}")
    for name, value in conditions_rows(report):
        typer.echo(f"{name:<19} {value}")
    typer.echo("")
    for table in _tables(report):
        typer.echo(table.caption)
        print_rows(table.headings, list(table.rows))
        typer.echo("")
    typer.echo("\n".join((headline(report), *notes(report))))


def _tables(report: dict[str, Any]) -> Iterator[Table]:
    if report["senders"]:
        yield senders_table(report)
    if report["pace"]:
        yield pace_table(report)
    yield from latency_tables(report)
    if report["stages"]:
        yield stages_table(report)
    for table in report["scaling"]:
        yield scaling_table(table)
