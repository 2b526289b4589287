"""A message to one person is stored exactly as the plan of a list with that one row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drumbeat.campaigns.changing.send_message import message_spec, store_message
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.engine.store.database import Connection, Pool

NUMBER = "1001"
PHONE = 5511960000060
TEMPLATE = {
    "components": [{"type": "BODY", "text": "Hello {{1}}, your order {{2}} is on its way"}],
    "parameter_format": "POSITIONAL",
}
# What differs from one plan to the next: ids and times.
OWN = {"campaign_id", "created_at", "planned_at", "released_at", "range_id"}
ORDER = {"template": "order", "language": "en"}
MESSAGES: dict[str, dict[str, Any]] = {
    "a template": {**ORDER, "params": ["Ana", "A1"]},
    "odd signs": {**ORDER, "params": ['a\\\\b "c" {d}, e', "NULL"]},
    "a text": {"text": 'say "hi" \\ to {me}\nand you'},
    "an answer": {"text": "yes", "reply_to": "wamid.in"},
    "a location": {"message": {"type": "location", "location": {"latitude": 1, "longitude": 2}}},
}


@pytest.fixture
async def account(pool: Pool) -> None:
    await pool.execute(
        "INSERT INTO templates (name, language, status, category, definition)"
        " VALUES ('order', 'en', 'APPROVED', 'UTILITY', $1)",
        TEMPLATE,
    )
    await pool.execute("INSERT INTO numbers (phone_number_id) VALUES ($1)", NUMBER)


async def stored(connection: Connection) -> list[dict[str, Any]]:
    """Every row of the one campaign, without what is its own; then it is removed."""
    tables = ("campaigns", "ranges", "range_counters", "recipients")
    found = [
        {key: value for key, value in row.items() if key not in OWN}
        for table in tables
        for row in await connection.fetch(f"SELECT * FROM {table}")
    ]
    await connection.execute("TRUNCATE campaigns, ranges, range_counters, recipients CASCADE")
    return found


@pytest.mark.parametrize("suppressed", [False, True])
@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
async def test_it_is_stored_as_a_list_of_one_row(
    connection: Connection,
    database_url: str,
    account: None,
    tmp_path: Path,
    message: dict[str, Any],
    suppressed: bool,
) -> None:
    if suppressed:
        await connection.execute("INSERT INTO suppressions (phone, reason) VALUES ($1, 'said stop')", PHONE)
    spec: CampaignSpec = message_spec("hello", number=NUMBER, **message)
    await store_message(connection, spec, f"+{PHONE}")
    one = await stored(connection)
    audience = tmp_path / "recipient.csv"
    audience.write_text(f"phone\n+{PHONE}\n")
    await create_campaign(database_url, replace(spec, read_from=audience, is_urgent=True))
    assert one == await stored(connection)
    assert len(one) == 4
