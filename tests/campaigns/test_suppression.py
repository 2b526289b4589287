"""The suppression list: added, removed, listed and imported, by hand and by file."""

from pathlib import Path
from typing import Any

import pytest

from drumbeat.campaigns.audience.suppression_list import import_suppressions
from drumbeat.campaigns.phones import suppression
from drumbeat.campaigns.phones.suppression import (
    SuppressionCounts,
    add_suppressions,
    list_suppressions,
    remove_suppressions,
)
from drumbeat.campaigns.progress import PlanProgress
from drumbeat.engine.errors import NotReady, UsageError
from drumbeat.engine.store.database import Pool
from tests.campaigns.conftest import PHONE, WriteAudience


async def test_added_once_with_its_first_reason(pool: Pool) -> None:
    async with pool.acquire() as connection:
        first = await add_suppressions(connection, [f"+{PHONE}", "(11) 96000-0001"], "asked", region="BR")
        again = await add_suppressions(connection, [str(PHONE), str(PHONE + 2), str(PHONE + 2)], "later")
        listed = [(entry.phone, entry.reason) async for entry in list_suppressions(connection)]

    assert first == SuppressionCounts(2, 0)
    assert again == SuppressionCounts(1, 2)
    assert listed == [(PHONE, "asked"), (PHONE + 1, "asked"), (PHONE + 2, "later")]


async def test_removed(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await add_suppressions(connection, [str(PHONE)])
        assert await remove_suppressions(connection, [str(PHONE), str(PHONE + 1)]) == SuppressionCounts(1, 1)
        assert [entry async for entry in list_suppressions(connection)] == []


@pytest.mark.parametrize("reason", [" ", "a NUL \x00", "x" * (suppression.REASON_CHARACTERS_MAX + 1)])
async def test_an_unreadable_phone_or_reason_changes_nothing(pool: Pool, reason: str) -> None:
    async with pool.acquire() as connection:
        with pytest.raises(UsageError, match="'12'"):
            await add_suppressions(connection, [str(PHONE), "12"])
        with pytest.raises(UsageError, match="reason"):
            await add_suppressions(connection, [str(PHONE)], reason)
        assert [entry async for entry in list_suppressions(connection)] == []


async def test_both_spellings_of_a_number_are_one_person(pool: Pool) -> None:
    async with pool.acquire() as connection:
        first = await add_suppressions(connection, ["541123456789", "5511978654321"])
        again = await add_suppressions(connection, ["+54 9 11 2345 6789"])
        listed = [entry.phone async for entry in list_suppressions(connection)]
        await pool.execute("DELETE FROM suppressions WHERE phone = 5491123456789")  # as an event stores one
        removed = await remove_suppressions(connection, ["+54 9 11 2345 6789", "551178654321"])
        left = len([entry async for entry in list_suppressions(connection)])

    assert (first, again) == (SuppressionCounts(2, 0), SuppressionCounts(0, 1))
    assert listed == [541123456789, 551178654321, 5491123456789, 5511978654321]
    assert (removed, left) == (SuppressionCounts(2, 0), 0)


async def test_a_list_that_is_still_written_is_refused(pool: Pool, write_audience: WriteAudience) -> None:
    path = write_audience(f"phone\n{PHONE}\n")

    def write_on(_: PlanProgress) -> None:
        with path.open("a") as file:
            file.write(f"{PHONE + 1}\n")

    async with pool.acquire() as connection:
        with pytest.raises(NotReady, match="changed while it was read"):
            await import_suppressions(connection, path, reason="old list", progress=write_on)
        kept = [entry async for entry in list_suppressions(connection)]
    assert len(kept) == 1, "who was read is on the list all the same"


async def test_the_list_is_read_in_pages(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suppression, "PAGE_ROWS", 3)
    async with pool.acquire() as connection:
        await add_suppressions(connection, [str(PHONE + row) for row in range(10)])
        assert [entry.phone async for entry in list_suppressions(connection)] == [
            PHONE + row for row in range(10)
        ]


async def test_a_file_is_imported_and_its_bad_rows_listed(pool: Pool, write_audience: WriteAudience) -> None:
    path = write_audience(f"Phone;why\n{PHONE};a\n{PHONE};b\n12;c\n{PHONE + 1};d\n", encoding="utf-16")
    async with pool.acquire() as connection:
        counts = await import_suppressions(connection, path, reason="old list")
        again = await import_suppressions(connection, path, reason="old list")
        listed = [entry.phone async for entry in list_suppressions(connection)]

    assert (counts.changed, counts.unchanged, counts.rejected) == (2, 1, 1)
    assert (again.changed, again.unchanged) == (0, 3)
    assert listed == [PHONE, PHONE + 1]
    assert counts.rejects_path is not None
    assert "4,phone_too_short" in counts.rejects_path.read_text("utf-8-sig")


async def test_a_file_is_read_by_its_column_and_region_and_listed_where_it_is_asked_for(
    pool: Pool, write_audience: WriteAudience, tmp_path: Path
) -> None:
    path = write_audience("Phone,Mobile\n1,(11) 96000-0001\n2,12\n")
    asked: dict[str, Any] = {"phone_column": "mobile", "region": "BR", "rejects_path": tmp_path / "bad.csv"}
    async with pool.acquire() as connection:
        counts = await import_suppressions(connection, path, reason="old list", **asked)
        listed = [entry.phone async for entry in list_suppressions(connection)]
    assert (listed, counts.rejected, counts.rejects_path) == ([PHONE + 1], 1, tmp_path / "bad.csv")
