"""A display of a running campaign's progress on a terminal."""

from collections.abc import Mapping

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from drumbeat.campaigns.cli.status_text import counts_line
from drumbeat.campaigns.duration import duration
from drumbeat.campaigns.results.status import CampaignStatus

LIVE_PERIOD_S = 0.5
BAR_WIDTH = 40


class TerminalView:
    """A view for `campaigns.cli.run_progress`."""

    period_s = LIVE_PERIOD_S

    def __init__(self) -> None:
        self._live = Live(console=Console(stderr=True), auto_refresh=False, redirect_stdout=False)
        self._live.start()

    def show(self, status: CampaignStatus, speeds: Mapping[str, float]) -> None:
        self._live.update(_draw(status, speeds), refresh=True)

    def close(self) -> None:
        self._live.stop()


def _draw(status: CampaignStatus, speeds: Mapping[str, float]) -> Group:
    done, total = status.recipients - status.waiting, status.recipients
    rate_per_s = sum(speeds.values())
    head = Table.grid(padding=(0, 2))
    left = duration(status.waiting / rate_per_s) + " left" if rate_per_s and status.waiting else ""
    head.add_row(
        Text(f"{status.name}: {status.state}", style="bold"),
        ProgressBar(total=max(total, 1), completed=done, width=BAR_WIDTH),
        f"{done:,} of {total:,}",
        left,
    )
    lines: list[Table | Text] = [head, Text(counts_line(status)), _numbers(status, speeds)]
    if words := status.reason_in_words:
        lines.insert(1, Text(words, style="yellow"))
    return Group(*lines)


def _numbers(status: CampaignStatus, speeds: Mapping[str, float]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("number", "rate", "limit", "throttled", ""):
        table.add_column(heading, justify="left" if heading in ("number", "") else "right")
    for number in status.numbers:
        table.add_row(
            number.phone_number_id,
            f"{speeds.get(number.phone_number_id, 0.0):,.0f}/s",
            f"{number.limit_per_s:g}/s",
            f"{number.throttled:,}",
            number.suspended_reason or "",
        )
    return table
