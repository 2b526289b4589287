"""The limits that the options set for what an audience holds."""

from pathlib import Path

from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.staged.staging import StagedRows
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.engine.errors import ConfigurationError


def require_recipients(spec: CampaignSpec, rows: StagedRows, rejects: Path | None) -> None:
    """Raise ConfigurationError unless the audience has recipients, and no more than the options allow, nor
    rejected rows if they allow none. `rejects` lists those.
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
