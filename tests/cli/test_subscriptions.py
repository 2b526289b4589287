"""Programs are subscribed by a command, and a receiver that is killed leaves nothing out."""

from __future__ import annotations

import asyncio

from drumbeat.engine.store.database import Pool
from tests.cli.processes import Drumbeat
from tests.kit.planted import plant_campaign
from tests.kit.waiting import until
from tests.notifications.test_event_sender import DELIVERED, READ, SENT, accept, happen, program

RECEIVER = {"app_secret": "a secret of the app", "verify_token": "a token"}


def test_a_subscription_lives_from_add_to_remove(drumbeat: Drumbeat) -> None:
    secret = drumbeat.ok(
        "subscriptions", "add", "crm", "--url", "https://crm.example/x", "--kind", "read"
    ).stdout
    assert len(secret.strip()) >= 32
    shown = drumbeat.ok("subscriptions", "show", "crm", "--json").json["subscription"]
    assert (shown["url"], shown["kinds"], shown["waiting"]) == ("https://crm.example/x", ["read"], 0)
    assert "secret" not in shown
    listed = drumbeat.ok("subscriptions", "list").stdout
    assert "crm" in listed and secret.strip() not in listed
    assert drumbeat("subscriptions", "add", "crm").exit_code == 2
    assert drumbeat("subscriptions", "add", "erp", "--url", "http://crm.example/x").exit_code == 2
    drumbeat.ok("subscriptions", "remove", "crm", "--yes")
    assert drumbeat("subscriptions", "show", "crm").exit_code == 78


async def test_a_receiver_that_is_killed_in_a_request_leaves_nothing_out(
    drumbeat: Drumbeat, pool: Pool
) -> None:
    async with program(hangs=1) as crm, pool.acquire() as connection:
        await asyncio.to_thread(drumbeat.ok, "subscriptions", "add", "crm", "--url", crm.url)
        campaign = await plant_campaign(connection)
        await accept(connection, campaign, *range(1, 9))
        await happen(connection, *((seq, SENT) for seq in range(1, 9)))
        killed = drumbeat.start("webhooks", "serve", "--port", "0", **RECEIVER)
        await until(lambda: crm.requests)
        killed.kill()
        await asyncio.to_thread(killed.communicate)
        await happen(connection, *((seq, rank) for seq in range(1, 9) for rank in (DELIVERED, READ)))
        await connection.execute("UPDATE subscriptions SET due_at = now()")  # its lease is over
        other = drumbeat.start("webhooks", "serve", "--port", "0", **RECEIVER)
        await until(lambda: len({event["id"] for event in crm.taken}) == 24)
        other.terminate()
        await asyncio.to_thread(other.communicate)
    for seq in range(1, 9):
        assert crm.of(f"+551190000000{seq}") == ["sent", "delivered", "read"]
