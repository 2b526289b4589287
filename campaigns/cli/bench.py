"""`drumbeat bench`: how fast this machine sends, measured against an emulator, kept as a report, compared."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from campaigns.bench.compare import compare as compare_reports
from campaigns.bench.page import page_of
from campaigns.bench.report import FILE_NAME, read_report, report_of
from campaigns.bench.rounds import Load
from campaigns.bench.suite import PARTS, USUAL, Asked, Part, duration_s, run_suite, steps
from campaigns.bench.words import (
    Table,
    comparison_table,
    conditions_rows,
    contestants_table,
    headline,
    latency_table,
    notes,
    pace_table,
    scaling_table,
    stages_table,
)
from campaigns.cli.bench_progress import progress_of
from campaigns.cli.edge import note, print_json, print_rows
from campaigns.cli.options import Json, Quiet
from campaigns.cli.words import duration as in_words
from engine.errors import ConfigurationError, UsageError
from engine.process.telemetry import configure_logging

app = typer.Typer(name="bench", invoke_without_command=True, add_completion=False)

PAGE_NAME = "report.html"
NUMBERS_MAX, PROCESSES_MAX, REPEATS_MAX = 256, 16, 20
RATE_PER_S_MAX = 10_000.0
DURATION_S_MIN, DURATION_S_MAX = 2.0, 120.0
LATENCY_MS_MAX = 5_000.0
MESSAGES_MIN = 20  # of a number: its first half second is not measured


Duration = Annotated[
    float,
    typer.Option(
        help="Seconds of each measurement; a yardstick takes 5 at most.",
        min=DURATION_S_MIN,
        max=DURATION_S_MAX,
    ),
]
Numbers = Annotated[int, typer.Option(help="Business numbers.", min=1, max=NUMBERS_MAX)]
Rate = Annotated[
    float, typer.Option(help="Limit of each number, messages per second.", min=1, max=RATE_PER_S_MAX)
]
Latency = Annotated[
    float, typer.Option(help="How long the emulator takes to answer.", min=0, max=LATENCY_MS_MAX)
]
Processes = Annotated[
    int, typer.Option(help="Engine processes that share the numbers.", min=1, max=PROCESSES_MAX)
]
Repeats = Annotated[
    int, typer.Option(help="How often everything is measured; medians are shown.", min=1, max=REPEATS_MAX)
]
Events = Annotated[
    bool, typer.Option("--events", help="Have three status events come back for each message.")
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        help=f"Part to measure; repeat for more: {', '.join(PARTS)}; default: all but scaling, the longest.",
        metavar="PART",
    ),
]
Service = Annotated[
    str | None, typer.Option(help="Use this running emulator; anything else is refused.", metavar="URL")
]
Output = Annotated[
    Path | None,
    typer.Option(help="Where the report goes; default: one named by the time.", metavar="DIRECTORY"),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be measured.")]


@app.callback()
def bench(
    ctx: typer.Context,
    duration: Duration = 10.0,
    numbers: Numbers = 32,
    rate: Rate = 1_000.0,
    latency_ms: Latency = 0.0,
    processes: Processes = 1,
    repeats: Repeats = 3,
    events: Events = False,
    only: Only = None,
    service: Service = None,
    output: Output = None,
    dry_run: DryRun = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how fast this machine plans, sends and receives. Sends only to an emulator.

    throughput: the engine beside yardsticks. pacing: how near a number comes to its limit. planning: an
    audience beside a bare COPY. receiving: statuses beside a bare Protocol. folding: statuses beside a bare
    UPDATE. scaling: the cost of a message over recipients, numbers and processes, with loads of its own.

    It starts an emulator and a Postgres of its own and removes them; none of your settings is used and nobody
    real gets a message. The report (report.json, report.html) stays in the output directory.
    """
    if ctx.invoked_subcommand is not None:
        return
    load = Load(
        numbers=numbers,
        rate_per_s=rate,
        latency_ms=latency_ms,
        processes=processes,
        duration_s=duration,
        events=events,
    )
    asked = Asked(load, repeats, _parts(only), service, shlex.join(("drumbeat", *sys.argv[1:])))
    _check(asked)
    if dry_run:
        _tell_plan(asked, as_json=json)
        return
    configure_logging(level="warning")
    _show(_measure(asked, output, quiet=quiet, as_json=json), as_json=json)


@app.command()
def compare(
    a: Annotated[Path, typer.Argument(help="A report: its directory, or its report.json.")],
    b: Annotated[Path, typer.Argument(help="The report to compare it with.")],
    json: Json = False,
) -> None:
    """Compare two reports: what changed, by how much, and whether it is more than the repeats vary."""
    reports = {"A": read_report(a), "B": read_report(b)}
    try:
        found = compare_reports(*reports.values())
        heads = [f"{name}: {_head(report)}" for name, report in reports.items()]
    except (AttributeError, KeyError, TypeError) as error:
        what = f"one of the two is no whole report of `drumbeat bench` ({type(error).__name__}: {error})"
        raise ConfigurationError(what, where=f"{a}, {b}") from None
    if json:
        print_json(found.as_json())
        return
    typer.echo("\n".join(heads))
    _print_table(comparison_table(found))
    for line in (*found.differences, *found.missing):
        typer.echo(f"not alike: {line}")


def _head(report: dict[str, Any]) -> str:
    return f"{report['conditions']['command']}, {report['conditions']['date']}, {report['made_by']}"


def _parts(only: list[str] | None) -> tuple[Part, ...]:
    unknown = [word for word in only or () if word not in PARTS]
    if unknown:
        raise UsageError(
            f"--only {unknown[0]!r} is not a part of the bench", remedy=f"choose {', '.join(PARTS)}"
        )
    return tuple(part for part in PARTS if part in only) if only else USUAL


def _check(asked: Asked) -> None:
    load = asked.load
    if load.processes > load.numbers:
        raise UsageError(
            "each process needs a number of its own: give at least as many --numbers as --processes"
        )
    if load.rate_per_s * (load.duration_s or 0.0) < MESSAGES_MIN:
        raise UsageError(
            f"at this --rate a number sends fewer than {MESSAGES_MIN} messages in its time, which is no"
            " measurement: give a higher --rate, or a longer --duration"
        )
    if asked.service is not None and load.events:
        raise UsageError("--events needs the bench's own emulator: leave out --service")
    if asked.service is not None and load.latency_ms:
        raise UsageError("a running emulator has its own latency: leave out --latency-ms, or --service")


def _tell_plan(asked: Asked, *, as_json: bool) -> None:
    if as_json:
        planned = [
            {"what": step.title, "amount": step.amount, "repeats": asked.repeats} for step in steps(asked)
        ]
        print_json({"schema": 1, "measurements": planned, "takes_s": round(duration_s(asked), 1)})
        return
    times = "once" if asked.repeats == 1 else f"{asked.repeats} times"
    for step in steps(asked):
        typer.echo(f"{step.title}, {step.amount}, {times}")
    typer.echo(f"about {in_words(duration_s(asked))} in all")


def _measure(asked: Asked, output: Path | None, *, quiet: bool, as_json: bool) -> dict[str, Any]:
    place = output or Path(f"bench-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
    with _directory(place) as directory:
        with progress_of(asked.repeats * len(steps(asked)), quiet=quiet) as watcher:
            report = report_of(run_suite(asked, watcher))
        try:
            _write(directory / PAGE_NAME, page_of(report).encode())
            # The last, and whole: a directory with it holds all of a report.
            _write(
                directory / FILE_NAME,
                orjson.dumps(report, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE),
            )
        except ConfigurationError:
            _show(report, as_json=as_json)  # minutes of measuring are not lost with it
            raise
    if not quiet:
        note(f"the report is in {place / PAGE_NAME} and {place / FILE_NAME}")
    return report


@contextmanager
def _directory(place: Path) -> Iterator[Path]:
    """Where the report will be, made beforehand; without a report it is removed again, if it was made."""
    new = not place.exists()
    if (place / FILE_NAME).exists():
        raise ConfigurationError(
            "there is a report already", where=str(place), remedy="name another --output"
        )
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):  # told now, and not after minutes of measuring
            pass
    except FileExistsError:
        raise ConfigurationError("the report needs a directory", where=str(place)) from None
    except OSError as error:
        raise ConfigurationError(
            f"the report cannot be written: {error.strerror}", where=str(place)
        ) from error
    try:
        yield place
    except BaseException:
        if new:
            (place / PAGE_NAME).unlink(missing_ok=True)
            with suppress(OSError):  # somebody has put something there meanwhile
                place.rmdir()
        raise


def _write(path: Path, content: bytes) -> None:
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        raise ConfigurationError(
            f"the report cannot be written: {error.strerror}", where=str(path)
        ) from error
    finally:
        with suppress(OSError):  # a disk that has become read-only says so once
            part.unlink(missing_ok=True)


def _show(report: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    for name, value in conditions_rows(report):
        typer.echo(f"{name:<19} {value}")
    typer.echo("")
    for table in _tables(report):
        _print_table(table)
        typer.echo("")
    typer.echo("\n".join((headline(report), *notes(report))))


def _tables(report: dict[str, Any]) -> Iterator[Table]:
    if report["contestants"]:
        yield contestants_table(report)
    if report["pace"]:
        yield pace_table(report)
        yield latency_table(report)
    if report["stages"]:
        yield stages_table(report)
    for table in report["scaling"]:
        yield scaling_table(table)


def _print_table(table: Table) -> None:
    headings, rows = table
    print_rows(headings, [tuple(row) for row in rows])
