"""An audience as a program gives it: a path, rows, or a data frame."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from drumbeat.api.options import campaign_options, given
from drumbeat.campaigns.options.sources import GIVEN_ROWS, GivenRows
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.engine.errors import UsageError


def without_rows(options: Mapping[str, Any]) -> tuple[dict[str, Any], GivenRows | None]:
    """Return the options, and the rows of the option `audience` apart if it names no file."""
    audience = options.get("audience")
    if audience is None or isinstance(audience, str | Path):
        return dict(options), None
    return {key: value for key, value in options.items() if key != "audience"}, GivenRows(rows_of(audience))


def rows_of(audience: Any) -> Iterable[Any]:
    """Return the rows of an iterable or of a data frame. Raise UsageError for anything else."""
    if hasattr(audience, "iter_rows"):
        rows: Iterable[Any] = audience.iter_rows(named=True)
        return rows
    if hasattr(audience, "to_dict"):
        found: Iterable[Any] = audience.to_dict("records")
        return found
    if isinstance(audience, Mapping | bytes) or not isinstance(audience, Iterable):
        raise UsageError(
            f"an audience cannot be a {type(audience).__name__}",
            remedy="give a path, an iterable of mappings or tuples, or a data frame",
            key="audience",
        )
    return audience


def spec_of(options: Mapping[str, Any]) -> CampaignSpec:
    """Return a new campaign. Raise UsageError for a wrong, missing or contradicting option."""
    plain, rows = without_rows(options)
    return CampaignSpec(**campaign_options(plain), read_from=rows).with_rows(rows)


def changes_of(options: Mapping[str, Any]) -> tuple[dict[str, Any], GivenRows | None]:
    """Return changes in the forms of a manifest, and the rows apart if the audience is in memory."""
    plain, rows = without_rows(options)
    changes = given(plain)
    return (changes if rows is None else {**changes, "audience": GIVEN_ROWS}), rows
