"""The limits that the options set for what an audience holds."""

from collections.abc import Mapping
from pathlib import Path

from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.staged.staging import StagedRows
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.engine.errors import ConfigurationError, NotReady


def nobody_to_retry(name: str, left_out: Mapping[int, int]) -> NotReady:
    """Return the error of a retry of nobody. `left_out` counts recipients by codes that no retry helps."""
    codes = ", ".join(f"{code} {count:,}" for code, count in sorted(left_out.items()))
    return NotReady(
        "there is nobody to send to again"
        + (f": a retry does not help those left out, {codes}" if codes else ""),
        where=f"the campaign {name}",
        remedy="{all_codes} takes them all the same" if codes else "failures may still be reported",
        values={},
    )


def require_recipients(
    spec: CampaignSpec, rows: StagedRows, rejects: Path | None, least: int, *, allow_empty: bool
) -> None:
    """Raise ConfigurationError unless the audience has recipients, and no more than the options allow, nor
    rejected rows if they allow none. `rejects` lists those.

    Raise NotReady if it has no row at all, or fewer recipients than `least`: more may come.
    """
    listed = "" if rejects is None else f"see {rejects}"
    name = spec.audience_name
    if spec.strict and rows.rejected:
        raise ConfigurationError(
            f"{pluralise(rows.rejected, 'row is', 'rows are')} rejected, and {{strict}} allows none",
            where=name,
            remedy="{listed}",
            values={"listed": listed},
        )
    most = spec.max_recipients
    if most is not None and rows.recipients > most:
        raise ConfigurationError(
            f"the audience has {rows.recipients:,} recipients, and {{max_recipients}} allows {most:,}",
            where=name,
            remedy="check that this is the right audience, or raise {max_recipients}",
            values={},
        )
    if not rows.recipients and not rows.rejected and allow_empty:
        return
    if rows.recipients < least:
        raise NotReady(
            f"the audience has {rows.recipients:,} recipients, and {{min_recipients}} asks for {least:,}",
            where=name,
            remedy="try again once it is complete, or lower {min_recipients}",
            values={},
        )
    if not rows.rows and not rows.rejected:
        raise NotReady(
            "there is nobody to send to: the audience has no rows",
            where=name,
            remedy="if they come later, try again then; on a day that may be empty, give {allow_empty}",
            values={},
        )
    if not rows.rows:
        rejected = f": all {rows.rejected:,} rows are rejected" if rows.rejected else ""
        problem = ": its only row is rejected" if rows.rejected == 1 else rejected
        raise ConfigurationError(f"there is nobody to send to{problem}", where=name, remedy=listed)
    if not rows.recipients:
        raise ConfigurationError(
            "there is nobody to send to: {exclude} names all recipients",
            where=name,
            remedy="{listed}",
            values={"listed": listed},
        )
