"""What the callback refuses is counted by reason, logged once a minute, and noted for a day."""

import gzip

import pytest
from structlog.testing import capture_logs

from drumbeat.campaigns.doctor.finding import Level
from drumbeat.campaigns.doctor.receiving import REMEDIES, check_receiving
from drumbeat.engine.store.database import Pool
from drumbeat.engine.webhooks.refusals import Refusal
from drumbeat.engine.webhooks.signature import sign
from drumbeat.http_server.limits import Limits
from tests.kit.waiting import until
from tests.webhooks.conftest import Running, running
from tests.webhooks.conversation import TOKEN, Peer, ask, get, post, status, statuses_body

BODY = statuses_body(status("wamid.1"))
PACKED = gzip.compress(BODY)
HEAD = f"HEAD /webhook?hub.mode=subscribe&hub.verify_token={TOKEN.replace(' ', '+')}&hub.challenge=7 HTTP/1.1"
REFUSED = {
    "another secret": (post(BODY, signature=sign(BODY, b"another")), 403, Refusal.SIGNATURE),
    "half a signature": (post(BODY, signature="sha256=ab"), 403, Refusal.SIGNATURE),
    "no signature": (post(BODY, signature=None), 403, Refusal.NO_SIGNATURE),
    "another token": (get("/webhook?hub.mode=subscribe&hub.verify_token=x"), 403, Refusal.HANDSHAKE),
    "a person who looks": (get("/webhook"), 403, Refusal.HANDSHAKE),
    "another path": (post(BODY, path="/hooks"), 404, Refusal.PATH),
    "a path below it": (post(BODY, path="/webhook/events"), 404, Refusal.PATH),
    "another method": (b"PUT /webhook HTTP/1.1\r\nHost: x\r\n\r\n", 405, Refusal.METHOD),
    "another coding": (post(BODY, extra="Content-Encoding: br\r\n"), 415, Refusal.CODING),
    "broken gzip": (post(PACKED[:-9], extra="Content-Encoding: gzip\r\n"), 415, Refusal.CODING),
    "too large unpacked": (
        post(gzip.compress(b" " * 300_000), extra="Content-Encoding: gzip\r\n"), 413, Refusal.TOO_LARGE,
    ),
    "no HTTP": (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", 400, Refusal.NOT_HTTP),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
async def test_each_refusal_says_why_to_the_operator_alone(pool: Pool, case: str) -> None:
    request, answered, reason = REFUSED[case]
    limits = Limits(body_bytes=200_000, usual_body_bytes=100_000)
    async with running(pool, limits) as receiver:
        with capture_logs() as logs:
            replies = [await ask(receiver.url, request) for _ in range(3)]
        assert [reply.status for reply in replies] == [answered] * 3
        assert {reply.body for reply in replies} == {b""}
        assert receiver.receiver.refusals.counts == {reason: 3}
        (line,) = [log for log in logs if log["event"] == "callback_refused"]
        assert (line["reason"], line["answered"], line["times"]) == (reason, answered, 1)
        async with pool.acquire() as connection:
            await receiver.receiver.refusals.store(connection)
            await receiver.receiver.refusals.store(connection)  # nothing new
    (finding,) = [finding for finding in await check_receiving(pool) if finding.level is Level.WARN]
    assert finding.found.startswith(f"{reason}: 3 requests refused in the last hour")
    assert finding.remedy == REMEDIES[reason]


async def test_refusals_are_stored_while_the_receiver_runs(receiver: Running) -> None:
    await ask(receiver.url, post(BODY, signature=None))
    count = "SELECT coalesce(sum(refused), 0) FROM callback_refusals"
    await until(lambda: receiver.pool.fetchval(count))


async def test_counts_that_cannot_be_stored_wait(receiver: Running) -> None:
    refusals = receiver.receiver.refusals
    refusals.note(Refusal.PATH, 404)
    async with receiver.pool.acquire() as connection:
        await connection.close()
        with pytest.raises(Exception, match="released"):
            await refusals.store(connection)
    async with receiver.pool.acquire() as connection:
        await refusals.store(connection)
        assert await connection.fetchval("SELECT sum(refused) FROM callback_refusals") == 1


@pytest.mark.parametrize("path", ["/webhook", "/webhook/"])
async def test_a_slash_at_the_end_makes_no_difference(receiver: Running, path: str) -> None:
    assert (await ask(receiver.url, post(BODY, path=path))).status == 200
    assert receiver.receiver.refusals.counts == {}


@pytest.mark.parametrize("asked", ["/drumbeat/webhook", "/drumbeat/webhook/"])
async def test_the_callback_may_have_another_path(pool: Pool, asked: str) -> None:
    async with running(pool, path=asked) as receiver:
        assert receiver.url.endswith("/drumbeat/webhook")
        for path in ("/drumbeat/webhook", "/drumbeat/webhook/"):
            assert (await ask(receiver.url, post(BODY, path=path))).status == 200
        assert (await ask(receiver.url, post(BODY))).status == 404
        assert (await ask(receiver.url, get("/livez"))).status == 200


async def test_a_head_is_answered_like_a_get_without_its_body(receiver: Running) -> None:
    peer = await Peer.connect(receiver.url)
    try:
        for line in (HEAD, "HEAD /livez HTTP/1.1"):
            await peer.send(f"{line}\r\nHost: x\r\n\r\n".encode())
            head = await peer.reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200") and b"content-length: 0" not in head
        await peer.send(get("/webhook/"))
        assert (await peer.reply()).status == 403, "no body was in between"
    finally:
        peer.close()
