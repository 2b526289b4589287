"""The benchmark of promises: does Drumbeat keep them under faults? Hundreds of seeded runs, and a table of
their results.

    python -m drumbeat.benchmarks.chaos --write

A run depends only on its seed: `--only service --first-seed N --runs 1` repeats one. The exit code is 1 if a
promise was broken. Runs that this machine does not allow (a disk that may fill up) are skipped and listed.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from drumbeat.benchmarks.harness.script import count, parser_of, run_script
from drumbeat.engine.store.leases import LEASE_S
from tests.chaos import schedule
from tests.chaos.bench import Bench, Report, standing
from tests.chaos.disk import why_no_disk
from tests.chaos.leftovers import left_behind

RATE_PER_S = 1_000
RUNS_PER_INSTALLATION = 40  # bounds the ledger, and tests fresh installations too
TABLE = Path(__file__).with_name("chaos.md")
COUNTED = {
    "sent twice": "sent twice",
    "forgotten": "forgotten",
    "accepted, in doubt after events": "accepted and still in doubt",
    "in doubt after settling": "in doubt after settling",
    "former owner after its successor": "messages of a former owner",
    "above the limit": "number",
}
POLICIES = ("hold", "resend-silent", "resend")
# Enough that events keep arriving long enough for a policy to settle attempts in doubt.
POLICY_RECIPIENTS = 5_000


@dataclass(slots=True)
class RunGroup:
    """The runs of one kind: the function that makes a plan from a seed, and the needs of the runs.

    `events` False: the service sends no status events. `policy`: of the campaigns, and checked. `skipped`:
    the reason why this machine cannot do such runs.
    """

    name: str
    runs: int
    recipients: int
    plan: Callable[[int], schedule.Plan]
    events: bool = True
    policy: str = ""
    small_disk: bool = False
    skipped: str = ""
    reports: list[Report] = field(default_factory=list)


def groups(recipients: int) -> list[RunGroup]:
    """Return all groups in their order, with their default counts of runs: about 55 minutes in all."""
    sending_s = recipients / RATE_PER_S

    def plain(name: str, runs: int, make: Callable[[int, float], schedule.Plan], **others: Any) -> RunGroup:
        return RunGroup(name, runs, recipients, lambda seed: make(seed, sending_s), **others)

    def policy(name: str) -> RunGroup:
        policy_s = POLICY_RECIPIENTS / RATE_PER_S
        made = partial(schedule.policy, sending_s=policy_s, on_unknown=name)
        return RunGroup(f"policy {name}", 5, POLICY_RECIPIENTS, made, policy=name)

    return [
        plain("kills without events", 10, schedule.owner_kills, events=False),
        plain("freezes", 8, partial(schedule.freezes, lease_s=LEASE_S)),
        *(policy(name) for name in POLICIES),
        plain("service", 30, schedule.service),
        plain("events", 18, schedule.events),
        plain("half-open", 6, schedule.half_open),
        plain("full disk", 6, schedule.disk, small_disk=True, skipped=why_no_disk()),
        plain("database", 50, schedule.database),
        plain("kills", 200, schedule.kills),
    ]


def chosen(arguments: argparse.Namespace) -> list[RunGroup]:
    """Return the groups and counts of runs that the options name."""
    known = groups(arguments.recipients)
    found = [group for group in known if not arguments.only or group.name in arguments.only]
    for group in found:
        group.runs = group.runs if arguments.runs is None else arguments.runs
    return found


async def run_group(group: RunGroup, first_seed: int, until_s: float) -> None:
    if group.skipped:
        print(f"{group.name}: skipped, {group.skipped}", flush=True)
        return
    seeds = iter(range(first_seed, first_seed + group.runs))
    seed = next(seeds, None)
    while seed is not None and time.monotonic() < until_s:
        async with standing(RATE_PER_S, small_disk=group.small_disk) as bench:
            for _ in range(RUNS_PER_INSTALLATION):
                report = await _run(bench, group, seed)
                seed = next(seeds, None)
                if report.broken or seed is None or time.monotonic() >= until_s:
                    break
            _note(await bench.stop(), report)
        _note(left_behind(bench.home), report)


async def _run(bench: Bench, group: RunGroup, seed: int) -> Report:
    plan = group.plan(seed)
    if group.policy:
        report = await bench.run_policy(plan, group.recipients, group.policy)
    else:
        report = await bench.run(plan, group.recipients, events=group.events)
    group.reports.append(report)
    weather = "bad weather" if plan.weather else "fair weather"
    in_doubt = f"{report.ever_in_doubt} in doubt, {report.unknown_max} at once, {report.resent} resent"
    pauses = f"; paused {len(report.pauses)} times" if report.pauses else ""
    print(
        f"{group.name} seed {seed}: {plan.words}; {weather}; {in_doubt}{pauses}; {report.lasted_s:.1f} s",
        flush=True,
    )
    _note(report.broken, report)
    return report


def _note(broken: list[str], report: Report) -> None:
    for line in broken:
        print(f"  BROKEN {line}\n{report.trace}", flush=True)
    report.broken += [line for line in broken if line not in report.broken]


def table(done: list[RunGroup]) -> str:
    """Return the figures as a Markdown table: a row for each group, and a line for each one skipped or cut
    short.
    """
    headings = [
        "runs", "faults", "recipients", *COUNTED, "other broken promises", "in doubt, then settled",
        "twice by declared resend", "most in doubt", "bound", "takeover, s: median", "worst",
    ]  # fmt: skip
    lines = ["| | " + " | ".join(headings) + " |", "|---" * (len(headings) + 1) + "|"]
    lines += [f"| {group.name} | " + " | ".join(_row(group)) + " |" for group in done if group.reports]
    skipped = [f"{group.name}: skipped, {group.skipped}." for group in done if group.skipped]
    short = [
        f"{group.name}: {len(group.reports)} of {group.runs} runs, because time ran out."
        for group in done
        if not group.skipped and len(group.reports) < group.runs
    ]
    return "\n".join([*lines, *(f"\n{line}" for line in skipped + short)])


def _row(group: RunGroup) -> list[str]:
    reports = group.reports
    takeovers = sorted(took for report in reports for took in report.takeovers_s)
    kinds = [_kind(line) for report in reports for line in report.broken]
    return [
        f"{len(reports)}",
        f"{sum(len(report.plan.strikes) for report in reports)}",
        f"{sum(report.recipients for report in reports):,}",
        *(f"{kinds.count(name)}" for name in COUNTED),
        f"{kinds.count('')}",
        f"{sum(report.ever_in_doubt for report in reports):,}",
        f"{sum(report.twice for report in reports)}",
        f"{max(report.unknown_max for report in reports)}",
        f"{max(report.unknown_bound for report in reports):,}",
        f"{median(takeovers):.2f}" if takeovers else "",
        f"{takeovers[-1]:.2f}" if takeovers else "",
    ]


def _kind(line: str) -> str:
    return next((name for name, start in COUNTED.items() if line.startswith(start)), "")


def write(text: str, command: str) -> None:
    """Put the table between the markers of chaos.md."""
    head, _, rest = TABLE.read_text("utf-8").partition("<!-- figures -->")
    _, _, tail = rest.partition("<!-- end of figures -->")
    figures = f"<!-- figures -->\n`{command}`\n\n{text}\n<!-- end of figures -->"
    TABLE.write_text(head + figures + tail, "utf-8")


async def main(arguments: argparse.Namespace) -> int:
    done = chosen(arguments)
    until_s = time.monotonic() + arguments.minutes * 60
    for group in done:
        await run_group(group, arguments.first_seed, until_s)
    text = table(done)
    print(text)
    if arguments.write:
        write(text, " ".join(["python -m drumbeat.benchmarks.chaos", *sys.argv[1:]]))
    return int(any(report.broken for group in done for report in group.reports))


def _arguments() -> argparse.Namespace:
    parser = parser_of(__doc__)
    names = [group.name for group in groups(1)]
    parser.add_argument(
        "--only", action="append", choices=names, help="repeatable; default: all", metavar="GROUP"
    )
    parser.add_argument("--runs", type=count, help="of each group; default: its own number")
    parser.add_argument(
        "--recipients", type=count, default=2_000, help="of a run, where the group does not say"
    )
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60.0, help="start no run after this time")
    parser.add_argument("--write", action="store_true", help="put the table into chaos.md")
    return parser.parse_args()


if __name__ == "__main__":
    arguments = _arguments()
    run_script(lambda: asyncio.run(main(arguments)))
