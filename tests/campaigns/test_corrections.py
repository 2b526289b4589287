"""Corrected rows: they stand in for those of the audience, whatever its form, and keep their numbers."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from drumbeat.campaigns.audience.check.corrections import corrected
from drumbeat.campaigns.audience.check.row_check import row_check
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.audience.open.reader import RowBatch
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.reject import Reject
from drumbeat.engine.errors import ConfigurationError, UsageError
from drumbeat.engine.store.database import Pool
from tests.campaigns.audience_files import (
    Rows,
    write_csv,
    write_json_lines,
    write_ods,
    write_parquet,
    write_xlsx,
)
from tests.campaigns.creating import recipients

GOOD, OTHER = "5511987654321", "5511987654322"


def test_a_correction_takes_the_place_of_a_bad_row_and_of_an_unread_one() -> None:
    batch = RowBatch(9, (2, 4), [["x", "Ana"], [OTHER, "Cy"]], [Reject(3, "row_shape", "", "a,b,c")])
    found = corrected(batch, {2: [GOOD, "Ana"], 3: [GOOD, "Bo"], 99: ["of", "another batch"]})
    assert (found.read_bytes, found.lines) == (9, [2, 3, 4])
    assert found.rows == [[GOOD, "Ana"], [GOOD, "Bo"], [OTHER, "Cy"]]
    assert found.rejects == []


def test_a_batch_without_corrected_rows_stays_as_it_is() -> None:
    batch = RowBatch(9, range(2, 3), [["x", "Ana"]])
    assert corrected(batch, {99: [GOOD, "Bo"]}) is batch


def test_a_correction_with_other_columns_is_refused() -> None:
    with pytest.raises(UsageError, match="one cell for each column"):
        row_check(["phone", "name"], "a.csv", RowRules(corrections={2: [GOOD]}))


@pytest.mark.parametrize("write", [write_csv, write_json_lines, write_xlsx, write_ods, write_parquet])
async def test_a_campaign_has_the_corrected_rows(
    pool: Pool,
    ready: str,
    spec: CampaignSpec,
    tmp_path: Path,
    write: Callable[[Path, list[str], Rows], None],
) -> None:
    """The file itself stays as it is, and rows keep the numbers that they have without corrections."""
    path = tmp_path / "people"
    write(path, ["phone", "name", "order"], [["nonsense", "Ana", "A1"], [OTHER, "Bo", "A2"]])
    before = path.read_bytes()
    spec = replace(spec, audience=path, corrections={2: [GOOD, "Ana", "B1"]})
    if write is write_json_lines or write is write_parquet:
        spec = replace(spec, corrections={1: [GOOD, "Ana", "B1"]})
    created = await create_campaign(ready, spec)
    first = next(iter(spec.corrections))
    assert (created.counts.recipients, created.counts.rejected) == (2, 0)
    assert [(row["phone"], row["variables"], row["line"]) for row in await recipients(pool)] == [
        (int(GOOD), ["Ana", "B1"], first),
        (int(OTHER), ["Bo", "A2"], first + 1),
    ]
    assert path.read_bytes() == before


async def test_other_corrections_make_another_campaign(
    ready: str, spec: CampaignSpec, tmp_path: Path
) -> None:
    path = tmp_path / "people.csv"
    write_csv(path, ["phone", "name", "order"], [["nonsense", "Ana", "A1"]])
    spec = replace(spec, audience=path, corrections={2: [GOOD, "Ana", "B1"]})
    await create_campaign(ready, spec)
    assert (await create_campaign(ready, spec)).unchanged
    with pytest.raises(ConfigurationError, match="corrected rows"):
        await create_campaign(ready, replace(spec, corrections={2: [OTHER, "Ana", "B1"]}))
