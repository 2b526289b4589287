"""Media: uploaded, looked up, fetched within five minutes, sent for 30 days, deleted; a limit a kind."""

import hashlib
from typing import Any

import aiohttp
import pytest

from drumbeat.emulator.media import SIZE_LIMITS_BYTES
from tests.emulator.conftest import ANA, NUMBER, Answer, Client, free_form, template

TYPES = {
    "image": "image/jpeg",
    "video": "video/mp4",
    "audio": "audio/ogg",
    "document": "application/pdf",
    "sticker": "image/webp",
}


async def upload(client: Client, content: bytes, mime_type: str = "image/png", **change: str) -> Answer:
    form = aiohttp.FormData()
    form.add_field("messaging_product", change.get("product", "chat"))
    form.add_field("type", mime_type)
    form.add_field("file", content, filename="a.bin", content_type=mime_type)
    return await client.call("POST", f"/{NUMBER}/media", data=form)


async def fetch(client: Client, url: str, token: str | None = "emulator-token") -> tuple[int, bytes]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with client.session.get(url, headers=headers) as reply:
        return reply.status, await reply.read()


async def test_a_file_comes_back_as_it_went(client: Client) -> None:
    content = bytes(range(256)) * 40 + b"\r\n--boundary\r\n\r\n"
    media_id = (await upload(client, content)).body["id"]
    known = (await client.call("GET", f"/{media_id}")).body
    assert known["id"] == media_id
    assert known["messaging_product"] == "chat"
    assert known["mime_type"] == "image/png"
    assert known["file_size"] == len(content)
    assert known["sha256"] == hashlib.sha256(content).hexdigest()
    assert await fetch(client, known["url"]) == (200, content)


async def test_the_address_lives_five_minutes_and_takes_the_same_token(client: Client) -> None:
    media_id = (await upload(client, b"x")).body["id"]
    url = (await client.call("GET", f"/{media_id}")).body["url"]
    assert (await fetch(client, url, token=None))[0] == 401
    await client.control("tokens", value="another")
    assert (await fetch(client, url, token="another"))[0] == 404
    await client.control("clock", seconds=240)
    assert (await fetch(client, url))[0] == 200
    await client.control("clock", seconds=60)
    assert (await fetch(client, url))[0] == 404
    fresh = (await client.call("GET", f"/{media_id}")).body["url"]
    assert (await fetch(client, fresh))[0] == 200


async def test_an_upload_is_sent_for_30_days(client: Client) -> None:
    media_id = (await upload(client, b"x")).body["id"]
    message = free_form("image", {"id": media_id})
    for days, code in ((29, None), (1, 131009)):
        await client.control("clock", seconds=days * 86_400)
        await client.control("incoming", phone_number_id=NUMBER, **{"from": ANA})
        assert (await client.send(message)).code == code
    assert (await client.call("GET", f"/{media_id}")).code == 33


async def test_a_file_is_sent_as_what_it_is(client: Client) -> None:
    await client.control("incoming", phone_number_id=NUMBER, **{"from": ANA})
    media_id = (await upload(client, b"x", "image/png")).body["id"]
    assert (await client.send(free_form("video", {"id": media_id}))).code == 131053
    assert (await client.send(free_form("document", {"id": media_id}))).status == 200


async def test_the_media_of_a_templates_header_keep_the_same_rules(client: Client) -> None:
    def with_header(image: object) -> dict[str, Any]:
        message = template(ANA, "Ana", name="catalogue")
        header = {"type": "header", "parameters": [{"type": "image", "image": image}]}
        url = {"type": "text", "text": "2f9"}
        button = {"type": "button", "sub_type": "url", "index": "0", "parameters": [url]}
        message["template"]["components"] += [header, button]
        return message

    media_id = (await upload(client, b"x", "image/png")).body["id"]
    film_id = (await upload(client, b"x", "video/mp4")).body["id"]
    assert (await client.send(with_header({"id": media_id}))).status == 200
    assert (await client.send(with_header({"link": "https://lantern.example/a.png"}))).status == 200
    for wrong, code in (
        ({"link": "http://lantern.example/a.png"}, 100),
        ({"id": "4711"}, 131009),
        ({"id": film_id}, 131053),
        ({"id": media_id, "link": "https://lantern.example/a.png"}, 131008),
        ({}, 131008),
        ("https://lantern.example/a.png", 132012),
    ):
        answer = await client.send(with_header(wrong))
        assert (answer.status, answer.code) == (400, code), wrong
    await client.control("clock", seconds=30 * 86_400)
    assert (await client.send(with_header({"id": media_id}))).code == 131009


async def test_a_deleted_file_is_gone(client: Client) -> None:
    media_id = (await upload(client, b"x")).body["id"]
    assert (await client.call("DELETE", f"/{media_id}")).body == {"success": True}
    assert (await client.call("GET", f"/{media_id}")).code == 33
    assert (await client.call("DELETE", f"/{media_id}")).code == 33
    assert (await client.call("DELETE", f"/{NUMBER}")).code == 100


@pytest.mark.parametrize("kind", ["image", "video", "audio", "sticker"])
async def test_each_kind_has_its_size(client: Client, kind: str) -> None:
    limit = SIZE_LIMITS_BYTES[kind]
    assert (await upload(client, b"x" * limit, TYPES[kind])).status == 200
    assert (await upload(client, b"x" * (limit + 1), TYPES[kind])).code == 131053


async def test_a_document_has_100_megabytes(client: Client) -> None:
    limit = SIZE_LIMITS_BYTES["document"]
    assert limit == 100 * 1024 * 1024
    assert (await upload(client, b"x" * (limit + 1), TYPES["document"])).code == 131053
    assert (await upload(client, b"x" * limit, TYPES["document"])).status == 200


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"", "multipart/form-data; boundary=b"),
        (b"--b\r\n\r\n", "multipart/form-data; boundary=b"),
        (b"--b\r\n\r\nx\r\n--b--", "multipart/form-data; boundary=b"),
        (b"--b" * 50, "multipart/form-data; boundary=b"),
        (b"{}", "application/json"),
        (b"x", "multipart/form-data"),
    ],
)
async def test_a_body_that_is_no_form_is_error_100(client: Client, body: bytes, content_type: str) -> None:
    answer = await client.call("POST", f"/{NUMBER}/media", data=body, headers={"Content-Type": content_type})
    assert (answer.status, answer.code) == (400, 100)


async def test_what_a_form_must_hold(client: Client) -> None:
    assert (await upload(client, b"x", product="other")).code == 100
    assert (await upload(client, b"")).code == 131053
    form = aiohttp.FormData({"messaging_product": "chat", "type": "image/png"})
    form.add_field("note", b"no file here", filename="n")
    assert (await client.call("POST", f"/{NUMBER}/media", data=form)).code == 100


async def test_the_form_names_the_type_of_its_file(client: Client) -> None:
    form = aiohttp.FormData({"messaging_product": "chat"})
    form.add_field("file", b"x", filename="a.png", content_type="image/png")
    answer = await client.call("POST", f"/{NUMBER}/media", data=form)
    assert (answer.status, answer.code) == (400, 100)
