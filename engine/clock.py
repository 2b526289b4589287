"""The clocks of the flow. None is the wall clock: when that steps, no pace and no claim changes."""

import time
from functools import partial

from engine.core.units import SECOND_NS as SECOND_NS

# For pacing: never steps. These three are read several times a message, so nothing of ours is between.
monotonic_ns = time.monotonic_ns
# For claims: also runs while the machine sleeps, so that a claim expires during a suspension too.
suspend_aware_ns = partial(time.clock_gettime_ns, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
# That this thread took so far.
cpu_ns = time.thread_time_ns
