"""Who may manage what: permissions, verification, profiles, the media of another number, other callbacks."""

from typing import Any

import pytest

from tests.emulator.conftest import (
    ACCOUNT,
    NUMBER,
    OTHER_NUMBER,
    Client,
    Receiver,
    Start,
    running_receiver,
    template,
)
from tests.emulator.test_media import upload

PROFILE = f"/{NUMBER}/chat_business_profile"
APPS = f"/{ACCOUNT}/subscribed_apps"


@pytest.mark.parametrize(("permission", "code"), [("management", None), ("messaging", 10)])
async def test_the_profile_and_a_registration_are_business_management(
    client: Client, permission: str, code: int | None
) -> None:
    await client.control("tokens", value="half", permissions=[permission])
    client.token = "half"
    content = {"messaging_product": "chat", "about": "Lamps"}
    assert (await client.call("GET", PROFILE)).code == code
    assert (await client.call("POST", PROFILE, json=content)).code == code
    pin = {"messaging_product": "chat", "pin": "123456"}
    assert (await client.call("POST", f"/{NUMBER}/register", json=pin)).code == code
    assert (await client.send(template())).code == (10 if code is None else None)


async def test_an_account_that_is_not_verified_is_held_to_250(client: Client) -> None:
    async def tiers() -> list[str]:
        listed = await client.call("GET", f"/{ACCOUNT}/phone_numbers", params={"limit": "10"})
        return [each["messaging_limit_tier"] for each in listed.body["data"]]

    assert await tiers() == ["TIER_UNLIMITED"] * 2
    await client.control("accounts", id=ACCOUNT, verified=False)
    await client.control("numbers", id="7701")
    assert await tiers() == ["TIER_250"] * 3
    raised = {"id": NUMBER, "messaging_limit_tier": "TIER_1K"}
    assert (await client.call("POST", "/_emulator/numbers", json=raised)).code == 100
    await client.control("accounts", id=ACCOUNT, verified=True)
    assert await tiers() == ["TIER_1K"] * 3


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"email": "shop@lantern.example"}, None),
        ({"email": ""}, None),
        ({"email": "shop at lantern"}, 100),
        ({"email": "shop@lantern"}, 100),
        ({"vertical": "RETAIL"}, None),
        ({"vertical": ""}, None),
        ({"vertical": "LAMPS"}, 100),
    ],
)
async def test_the_address_and_the_line_of_business_of_a_profile_are_checked(
    client: Client, change: dict[str, str], code: int | None
) -> None:
    assert (await client.call("POST", PROFILE, json={"messaging_product": "chat", **change})).code == code


async def test_a_file_belongs_to_its_number(client: Client) -> None:
    media_id = (await upload(client, b"x")).body["id"]
    for method in ("GET", "DELETE"):
        theirs = await client.call(method, f"/{media_id}", params={"phone_number_id": OTHER_NUMBER})
        assert (theirs.status, theirs.code) == (400, 100)
        own = await client.call(method, f"/{media_id}", params={"phone_number_id": NUMBER})
        assert own.status == 200


@pytest.mark.parametrize("name", ["pricing_analytics", "template_analytics"])
async def test_other_analytics_are_refused(client: Client, name: str) -> None:
    fields = f"{name}.start(0).end(86400).granularity(DAILY)"
    answer = await client.call("GET", f"/{ACCOUNT}", params={"fields": fields})
    assert (answer.status, answer.code) == (400, 100)


@pytest.mark.parametrize("granularity", ["HALF_HOUR", "DAILY", "MONTHLY", "DAY", "MONTH"])
async def test_conversations_are_counted_in_the_words_of_both(client: Client, granularity: str) -> None:
    now_s = (await client.ask("health"))["unix_s"]
    await client.send(template())
    fields = f"conversation_analytics.start({now_s - 60}).end({now_s + 60}).granularity({granularity})"
    answer = (await client.call("GET", f"/{ACCOUNT}", params={"fields": fields})).body
    points = answer["conversation_analytics"]["data"][0]["data_points"]
    assert sum(point["conversation"] for point in points) == 1


async def test_the_events_of_an_account_go_to_its_own_callback(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url)
    async with running_receiver() as other:
        content: dict[str, Any] = {"override_callback_uri": other.url, "verify_token": "wrong"}
        assert (await client.call("POST", APPS, json=content)).code == 100
        content["verify_token"] = "emulator-verify"
        assert (await client.call("POST", APPS, json=content)).body == {"success": True}
        assert other.challenges[-1]["hub.mode"] == "subscribe"
        app = (await client.call("GET", APPS)).body["data"][0]
        assert app["override_callback_uri"] == other.url
        wamid = (await client.send(template())).wamid
        await other.until(lambda _: len(other.statuses(wamid)) >= 2)
        await client.settled()
        assert (receiver.posts, other.wrong_signatures) == ([], 0)
        state = await client.ask("snapshot")
        await client.control("restore", **state)
        assert await client.ask("snapshot") | {"now_ns": 0, "unix_s": 0} == state | {"now_ns": 0, "unix_s": 0}
        assert (await client.call("POST", APPS)).body == {"success": True}  # without one: the app's own again
        wamid = (await client.send(template("5511987654322"))).wamid
        await receiver.until(lambda _: len(receiver.statuses(wamid)) >= 2)
    assert (await client.call("POST", APPS, json={"override_callback_uri": "ftp://x"})).code == 100
