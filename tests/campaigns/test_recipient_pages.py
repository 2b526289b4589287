"""Pages of recipients: one after the other they show exactly those in the state, whatever finds them."""

import pytest

from drumbeat.benchmarks.viewing.seed import Planted, fill
from drumbeat.campaigns.results import recipient_pages
from drumbeat.campaigns.results.recipient_pages import recipient_page
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.store.database import Pool

LIMIT = 37  # no page ends where a range does


@pytest.fixture
async def large(database_url: str, pool: Pool) -> Planted:
    """Of 6,000 recipients half are sent to; some wait, and of some only an earlier attempt failed."""
    planted = (await fill(database_url, ["1001", "1002"], 6_000))[0]
    await pool.execute("UPDATE pending_attempts SET state = 'deferred' WHERE seq % 2 = 0")
    await pool.execute(
        "UPDATE range_counters SET deferred = waits, unknown = unknown - waits FROM ("
        " SELECT range_id, count(*) AS waits FROM pending_attempts WHERE state = 'deferred' GROUP BY range_id)"
        " AS counted WHERE counted.range_id = range_counters.range_id"
    )
    await pool.execute(
        "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id)"
        " SELECT range_id, seq, 2, 1, 1, 4, '1001' FROM outcomes WHERE kind = 2 AND seq % 3 = 0"
    )
    return planted


@pytest.fixture(autouse=True)
def few_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipient_pages, "RANGES_MAX", 2)
    monkeypatch.setattr(recipient_pages, "RECORDED_RANGES", (1, 2))


@pytest.mark.parametrize("state", [None, *RecipientState])
async def test_pages_of_a_state(pool: Pool, large: Planted, state: RecipientState | None) -> None:
    expected = await pool.fetch(
        "SELECT phone::text FROM recipient_states WHERE campaign_id = $1 AND ($2::text IS NULL OR state = $2)"
        " ORDER BY ordinal, seq",
        large.campaign_id,
        state,
    )
    assert await _walk(pool, large, state=state) == [row["phone"] for row in expected]


@pytest.mark.parametrize(("code", "is_there"), [(131026, True), (131047, True), (131000, False)])
async def test_pages_of_a_code(pool: Pool, large: Planted, code: int, is_there: bool) -> None:
    expected = await pool.fetch(
        "SELECT phone::text FROM recipient_states "
        " WHERE campaign_id = $1 AND state = 'failed' AND code = $2 ORDER BY ordinal, seq",
        large.campaign_id,
        code,
    )
    assert bool(expected) == is_there
    assert await _walk(pool, large, code=code) == [row["phone"] for row in expected]


async def _walk(
    pool: Pool, large: Planted, state: RecipientState | None = None, code: int | None = None
) -> list[str]:
    phones: list[str] = []
    after: str | None = ""
    while after is not None:
        page = await recipient_page(pool, large.campaign_id, after=after, state=state, code=code, limit=LIMIT)
        assert len(page.recipients) <= LIMIT
        phones += [recipient.phone for recipient in page.recipients]
        after = page.next
    return phones
