"""`drumbeat bench compare`: two reports beside each other, and a verdict for CI."""

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from drumbeat.benchmarks.report.compare import ComparedFigure, Comparison
from drumbeat.benchmarks.report.compare import compare as compare_reports
from drumbeat.benchmarks.report.content import read_report
from drumbeat.benchmarks.report.text import comparison_table
from drumbeat.campaigns.cli.options import Json
from drumbeat.campaigns.cli.printing import error_part, print_json, print_rows
from drumbeat.engine.errors import ConfigurationError, Incomplete, UsageError

PERCENT_MAX = 1_000.0
_PERCENT = re.compile(r"(\d{1,4}(?:\.\d{1,3})?)\s*%")
FailOver = Annotated[
    str | None,
    typer.Option(
        help="End with exit code 3 if a figure of Drumbeat is worse in B by more than this.",
        metavar="N%",
    ),
]


class GotWorse(Incomplete):
    """A report whose figures are worse than those of an earlier one by more than was allowed."""

    code = "got_worse"


def compare(
    a: Annotated[Path, typer.Argument(help="A report: its directory or its report.json.")],
    b: Annotated[Path, typer.Argument(help="The report to compare it with.")],
    fail_over: FailOver = None,
    json: Json = False,
) -> None:
    """Compare two reports: what changed, by how much, and whether that exceeds the spread of the repeats.

    For CI, --fail-over 10% ends with exit code 3 if Drumbeat's rate, CPU, reply times or throttled share are
    more than 10 % worse in B. A change within the spread of the repeats does not count, nor do baselines.
    Exit code 78 means that the reports cannot be judged: they measured another load, or B lacks figures.
    """
    share = None if fail_over is None else _share(fail_over)
    reports = {"A": read_report(a), "B": read_report(b)}
    try:
        found = compare_reports(*reports.values())
        heads = [f"{name}: {_head(report)}" for name, report in reports.items()]
    except (AttributeError, KeyError, TypeError) as error:
        what = (
            f"one of the two is not a complete report of `drumbeat bench` ({type(error).__name__}: {error})"
        )
        raise ConfigurationError(what, where=f"{a}, {b}") from None
    problem = None if share is None else _problem(found, share, where=f"{a}, {b}")
    if json:
        print_json({**found.as_json(), **error_part(problem)})
    else:
        _print(found, heads)
    if problem is not None:
        raise problem


def _print(found: Comparison, heads: list[str]) -> None:
    typer.echo("\n".join(heads))
    table = comparison_table(found)
    print_rows(table.headings, list(table.rows))
    for line in (*found.differences, *found.missing):
        typer.echo(f"different conditions: {line}")


def _share(text: str) -> float:
    """Return a percentage as a share of 1."""
    matched = _PERCENT.fullmatch(text.strip())
    if matched is None or float(matched[1]) > PERCENT_MAX:
        raise UsageError(
            f"--fail-over {text!r} is not a percentage", remedy=f"write 10%, at most {PERCENT_MAX:g}%"
        )
    return float(matched[1]) / 100


def _problem(found: Comparison, share: float, *, where: str) -> ConfigurationError | GotWorse | None:
    """Return why B must not pass, or None if it may. What cannot be judged never passes."""
    if found.other_load:
        return ConfigurationError(
            "the reports measured different loads, so nothing can be judged",
            where=where,
            remedy="measure both with the same options",
        )
    if found.lost or not any(row.own for row in found.rows):
        lost = ", ".join(found.lost) or "every figure of Drumbeat"
        return ConfigurationError(f"nothing can be judged: B lacks {lost}", where=where)
    worse = found.worse_than(share)
    if not worse:
        return None
    return GotWorse(f"worse by more than {100 * share:g} %: {'; '.join(map(_loss, worse))}", where=where)


def _loss(row: ComparedFigure) -> str:
    change = "from 0" if row.change is None else f"{100 * row.change:+.1f} %"
    return f"{row.what}, {row.figure} {change}"


def _head(report: dict[str, Any]) -> str:
    return f"{report['conditions']['command']}, {report['conditions']['date']}, {report['made_by']}"
