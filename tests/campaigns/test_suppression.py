"""The suppression list: added, removed, listed and imported, by hand and by file."""

import pytest

from campaigns import suppression
from campaigns.suppression import (
    SuppressionCounts,
    add_suppressions,
    import_suppressions,
    list_suppressions,
    remove_suppressions,
)
from engine.errors import UsageError
from engine.store.database import Pool
from tests.campaigns.conftest import WriteAudience

PHONE = 5511960000000


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
        assert [one async for one in list_suppressions(connection)] == []


async def test_an_unreadable_phone_or_reason_changes_nothing(pool: Pool) -> None:
    async with pool.acquire() as connection:
        with pytest.raises(UsageError, match="'12'"):
            await add_suppressions(connection, [str(PHONE), "12"])
        with pytest.raises(UsageError, match="reason"):
            await add_suppressions(connection, [str(PHONE)], " ")
        assert [one async for one in list_suppressions(connection)] == []


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
