"""The timing of the sending flow: how often it looks at its state, and how long it waits."""

from dataclasses import dataclass

from drumbeat.engine.clock import SECOND_NS


@dataclass(frozen=True, slots=True)
class Timing:
    """The timing of one process. The defaults are for production; tests give shorter ones."""

    control_period_s: float = 0.4  # a pause, a new limit, a lost number: each takes effect within a second
    # Between two looks at how numbers are divided among workers. With a lease of 5 s, the numbers of a worker
    # that died have new owners within 7 s.
    sharing_period_s: float = 1.0
    # between two looks at canaries and error budgets; each look reads range counters
    health_period_s: float = 1.0
    unclosed_period_s: float = 60.0  # between two searches for closings that were interrupted
    sample_period_s: float = (
        5.0  # between two checks whether a sample of rates is due; one is due each 10 s or less often
    )
    reread_period_s: float = 60.0  # reading the numbers is one management call or more, of 200 an hour
    # a task that wants a connection has asked again within this time
    descriptors_quiet_ns: int = 10 * SECOND_NS
    # The time between two batches of outcomes shares the cost of a commit. A crash puts this much more in
    # doubt.
    batch_period_s: float = 0.05

    # The waits between two rounds of a claim loop:
    poll_s: float = 0.05  # while something forbids claims
    idle_s: float = 0.2  # while there is nothing to send
    down_s: float = 0.5  # while the database does not answer

    ask_again_s: float = 0.5  # between two checks whether a claim was committed
    release_period_ns: int = SECOND_NS // 2  # between two looks for ended ranges; each may cost a statement
    retry_period_ns: int = SECOND_NS // 4  # between two queries for retries that are due
    # The longest period, while no recipient waits: with many slow numbers these queries cost as much as all
    # claims together.
    retry_period_ns_max: int = SECOND_NS
    close_s: float = 0.5  # limits a fetch that is in progress when the process ends
