"""A process that plans: `python -m tests.campaigns.planner URL AUDIENCE [STAGE]`.

Prints its peak of resident memory in MiB before and after. With a stage it says so when it gets there and
waits to be killed.
"""

import asyncio
import sys
import threading
from pathlib import Path

from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.progress import PlanProgress


def peak_mib() -> float:
    """Of this program alone: `ru_maxrss` would keep the peak of the process that forked us."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def main(url: str, audience: str, stage: str = "") -> None:
    def watch(progress: PlanProgress) -> None:
        if progress.stage == stage:
            say(stage)
            threading.Event().wait()

    spec = CampaignSpec(
        name="big",
        template="order",
        language="en",
        audience=Path(audience),
        number=["1001"],
        param=["name", "order"],
    )
    before = peak_mib()
    created = asyncio.run(create_campaign(url, spec, watch))
    say(created.counts.recipients, round(before), round(peak_mib()))


if __name__ == "__main__":
    main(*sys.argv[1:])
