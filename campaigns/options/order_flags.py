"""The options that say in which order a campaign is sent, and what stops it when it fails."""

from typing import Annotated

import typer

from drumbeat.campaigns.options.order import (
    CANARY_MAX_FAILED,
    CANARY_MINUTES,
    CanaryOptions,
    OrderOptions,
    read_priority,
)
from drumbeat.engine.errors import UsageError

Priority = Annotated[
    str,
    typer.Option(
        help="low, normal or high. A number sends its campaigns of a higher priority first.",
        metavar="PRIORITY",
    ),
]
Share = Annotated[
    int | None,
    typer.Option(
        help="The campaign's part of each number's rate, while others of its priority send. Default: even"
        " parts.",
        metavar="PERCENT",
    ),
]
PauseAtFailed = Annotated[
    str | None,
    typer.Option(help="Pause the campaign when more recipients than this have failed.", metavar="N|N%"),
]
Canary = Annotated[
    int | None,
    typer.Option(help="Send to the first N recipients, then wait for their statuses.", metavar="N"),
]
CanaryMaxFailed = Annotated[
    str | None,
    typer.Option(
        help=f"Pause the campaign if more of the canary fail than this. Default: {CANARY_MAX_FAILED}.",
        metavar="N|N%",
    ),
]
CanaryMinutes = Annotated[
    float | None,
    typer.Option(
        help=f"Time to wait for the statuses of the canary. Default: {CANARY_MINUTES:g}.", metavar="MINUTES"
    ),
]
CanaryApprove = Annotated[
    bool,
    typer.Option("--canary-approve", help="After the canary, wait for `campaign approve` as well."),
]


def order_of(
    priority: str,
    share: int | None,
    pause_at_failed: str | None,
    canary: int | None,
    canary_max_failed: str | None,
    canary_minutes: float | None,
    canary_approve: bool,
) -> OrderOptions:
    """Return the options as one value. Raise UsageError for an option of a canary without --canary."""
    if canary is None and (canary_max_failed is not None or canary_minutes is not None or canary_approve):
        raise UsageError("the options of the canary need --canary", remedy="add --canary 500")
    options = None
    if canary is not None:
        options = CanaryOptions(
            canary,
            CANARY_MAX_FAILED if canary_max_failed is None else canary_max_failed,
            CANARY_MINUTES if canary_minutes is None else canary_minutes,
            canary_approve,
        )
    return OrderOptions(read_priority(priority), share, pause_at_failed, options)
