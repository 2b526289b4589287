"""The long form of the fault bench: hundreds of seeded runs, and the table of what they showed.

    python -m benchmarks.chaos --kills 200 --database 50 --freezes 10 --doubts 10

Every run is made by its seed: `--first-seed N --kills 1` repeats one. Exit code 1 for a broken promise.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from engine.store.leases import LEASE_S
from tests.chaos import schedule
from tests.chaos.bench import Bench, Report, standing

RATE_PER_S = 1_000
RUNS_PER_INSTALLATION = 40  # bounds the ledger; and every promise is also kept by a fresh installation
TABLE = Path(__file__).with_name("chaos.md")
COUNTED = {
    "sent twice": "sent twice",
    "forgotten": "forgotten",
    "accepted, in doubt after events": "accepted and still in doubt",
    "in doubt after settling": "in doubt after settling",
    "former owner after its successor": "messages of a former owner",
    "above the limit": "number",
}


@dataclass(slots=True)
class Group:
    """Runs of one kind: how a seed becomes a plan, and whether the service tells of what it accepted."""

    name: str
    runs: int
    plan: Callable[[int], schedule.Plan]
    events: bool = True
    reports: list[Report] = field(default_factory=list)


def groups(arguments: argparse.Namespace) -> list[Group]:
    sending_s = arguments.recipients / RATE_PER_S
    return [
        Group(
            "kills without events",
            arguments.doubts,
            lambda seed: schedule.owner_kills(seed, sending_s),
            events=False,
        ),
        Group("freezes", arguments.freezes, lambda seed: schedule.freezes(seed, sending_s, LEASE_S)),
        Group("database", arguments.database, lambda seed: schedule.database(seed, sending_s)),
        Group("kills", arguments.kills, lambda seed: schedule.kills(seed, sending_s)),
    ]


async def run_group(group: Group, arguments: argparse.Namespace, until_s: float) -> None:
    seeds = iter(range(arguments.first_seed, arguments.first_seed + group.runs))
    seed = next(seeds, None)
    while seed is not None and time.monotonic() < until_s:
        async with standing(RATE_PER_S) as bench:
            for _ in range(RUNS_PER_INSTALLATION):
                report = await _run(bench, group, seed, arguments.recipients)
                seed = next(seeds, None)
                if report.broken or seed is None or time.monotonic() >= until_s:
                    break
            _note(await bench.stop(), report)


async def _run(bench: Bench, group: Group, seed: int, recipients: int) -> Report:
    plan = group.plan(seed)
    report = await bench.run(plan, recipients, events=group.events)
    group.reports.append(report)
    weather = "bad weather" if plan.weather else "fair weather"
    doubts = f"{report.unknown_max} in doubt, {report.resent} resent"
    print(f"{group.name} seed {seed}: {plan.words}; {weather}; {doubts}; {report.lasted_s:.1f} s", flush=True)
    _note(report.broken, report)
    return report


def _note(broken: list[str], report: Report) -> None:
    for line in broken:
        print(f"  BROKEN {line}\n{report.trace}", flush=True)
    report.broken += [line for line in broken if line not in report.broken]


def table(done: list[Group]) -> str:
    """The figures as a Markdown table, one row a group."""
    headings = [
        "runs", "faults", "recipients", *COUNTED, "other broken promises", "most in doubt", "bound",
        "takeover, s: median", "worst",
    ]  # fmt: skip
    rows = [_row(group) for group in done if group.reports]
    lines = ["| | " + " | ".join(headings) + " |", "|---" * (len(headings) + 1) + "|"]
    lines += [f"| {group.name} | " + " | ".join(row) + " |" for group, row in zip(done, rows, strict=False)]
    return "\n".join(lines)


def _row(group: Group) -> list[str]:
    reports = group.reports
    takeovers = sorted(took for report in reports for took in report.takeovers_s)
    kinds = [_kind(line) for report in reports for line in report.broken]
    return [
        f"{len(reports)}",
        f"{sum(len(report.plan.strikes) for report in reports)}",
        f"{sum(report.recipients for report in reports):,}",
        *(f"{kinds.count(name)}" for name in COUNTED),
        f"{kinds.count('')}",
        f"{max(report.unknown_max for report in reports)}",
        f"{max(report.unknown_bound for report in reports):,}",
        f"{median(takeovers):.2f}" if takeovers else "",
        f"{takeovers[-1]:.2f}" if takeovers else "",
    ]


def _kind(line: str) -> str:
    return next((name for name, start in COUNTED.items() if line.startswith(start)), "")


def write(text: str, command: str) -> None:
    """Put the table between the marks of the page."""
    head, _, rest = TABLE.read_text("utf-8").partition("<!-- figures -->")
    _, _, tail = rest.partition("<!-- end of figures -->")
    figures = f"<!-- figures -->\n`{command}`\n\n{text}\n<!-- end of figures -->"
    TABLE.write_text(head + figures + tail, "utf-8")


async def main(arguments: argparse.Namespace) -> int:
    done = [group for group in groups(arguments) if group.runs]
    until_s = time.monotonic() + arguments.minutes * 60
    for group in done:
        await run_group(group, arguments, until_s)
    text = table(done)
    print(text)
    if arguments.write:
        words = ("kills", "database", "freezes", "doubts", "recipients", "first_seed")
        options = " ".join(f"--{word.replace('_', '-')} {getattr(arguments, word)}" for word in words)
        write(text, f"python -m benchmarks.chaos {options}")
    return int(any(report.broken for group in done for report in group.reports))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    for name, runs in (("kills", 200), ("database", 50), ("freezes", 10), ("doubts", 10)):
        parser.add_argument(f"--{name}", type=int, default=runs)
    parser.add_argument("--recipients", type=int, default=2_000)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=120.0, help="begin no run after so many")
    parser.add_argument("--write", action="store_true", help="put the table into chaos.md")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(_arguments())))
