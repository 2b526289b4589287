"""The benchmark of several hosts: do they share the numbers fairly, and is nobody sent to twice or forgotten
when one is lost?

    python -m drumbeat.benchmarks.hosts [--rate 20] [--repeats 1]

Three hosts (network namespaces with addresses of their own, clocks minutes apart) send one campaign through
24 numbers on one Postgres. While it runs, a host is added, killed, cut off from Postgres but not from the
service, frozen and thawed, and stopped. The emulator's ledger judges. The exit code is 1 if a promise was
broken. It needs root, network namespaces and libfaketime.
"""

import asyncio
import sys
from statistics import median

from drumbeat.benchmarks.harness.script import count, parser_of, run_script
from tests.hosts.installation import CLOCKS, NUMBERS, installed
from tests.hosts.judge import Report
from tests.hosts.network import why_no_hosts
from tests.hosts.trial import Trial

SENDING_S = 100  # the steps take about so long


async def run(rate_per_s: float) -> Report:
    recipients = int(rate_per_s * len(NUMBERS) * SENDING_S)
    async with installed(rate_per_s) as installation:
        trial = Trial(installation, rate_per_s, recipients)
        north, south, west = CLOCKS
        between = 5 * len(NUMBERS)
        await trial.begin(north, south)
        await trial.add(west, (north, south))
        await trial.send(between)
        await trial.kill(south, (north, west))
        await trial.send(between)
        await trial.add(south, (north, west))
        await trial.cut_off(west, (north, south))
        await trial.freeze(north, (south, west))
        await trial.send(between)
        await trial.stop(south, (north, west))
        return await trial.judge()


def table(report: Report) -> str:
    headings = ("step", "hosts left", "divided evenly after, s", "takeover of a number, s: median", "worst")
    lines = [f"| {' | '.join(headings)} |", "|---" * len(headings) + "|"]
    for step in report.steps:
        taken = step.takeovers_s
        times = f"{median(taken):.2f} | {taken[-1]:.2f}" if taken else " | "
        lines.append(f"| {step.what} | {step.hosts} | {step.even_s:.2f} | {times} |")
    lines.append(
        f"\n{report.recipients:,} recipients, {report.accepted:,} messages accepted, "
        f"{report.ever_in_doubt:,} attempts in doubt at some time, {report.resent:,} of them sent again, "
        f"{len(report.broken)} promises broken; {report.lasted_s:.0f} s"
    )
    return "\n".join([*lines, *(f"BROKEN {line}" for line in report.broken), *report.trace])


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--rate", type=count, default=20, help="of each number, messages per second")
    parser.add_argument("--repeats", type=count, default=1)
    options = parser.parse_args()
    if why := why_no_hosts():
        parser.error(f"this machine cannot run it: {why}")
    broken = 0
    for _ in range(options.repeats):
        report = asyncio.run(run(float(options.rate)))
        print(table(report), flush=True)
        broken += len(report.broken)
    sys.exit(int(broken > 0))


if __name__ == "__main__":
    run_script(main)
