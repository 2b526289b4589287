"""What the store refuses is logged, each reason by itself, and counts as set aside, not as stored."""

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from drumbeat.engine.process.throttled_log import ThrottledLogs
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.webhooks import body_group
from drumbeat.engine.webhooks.intake import Intake
from drumbeat.engine.webhooks.metrics import Metrics
from tests.webhooks.conversation import PRODUCT, status, statuses_body


async def test_what_the_store_refuses_is_told(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    real = body_group.write_together

    async def refuse(connection: Connection, parsed: Any, flow: Any) -> None:
        if any(row[0].startswith("odd") for row in parsed.statuses):
            raise ValueError(f"{len(parsed.statuses)} odd: {parsed.statuses[0][0]}")
        await real(connection, parsed, flow)

    monkeypatch.setattr(body_group, "write_together", refuse)
    metrics = Metrics()
    intake, answered = Intake(pool, metrics, PRODUCT), asyncio.Event()
    body = statuses_body(status("odd.1", "sent"), status("fine", "sent"), status("odd.2", "sent"))
    with capture_logs() as lines:
        running = asyncio.create_task(intake.run())
        assert intake.offer(body, lambda committed: answered.set() if committed else None)
        await answered.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    told = sorted(line["reason"] for line in lines if line["event"] == "events_set_aside")
    assert told == ["the store refused it: 1 odd: odd.1", "the store refused it: 1 odd: odd.2"]
    assert (metrics.events["status"], metrics.events["unreadable"]) == (1, 2)


def test_reasons_without_end_share_a_line() -> None:
    logs = ThrottledLogs("told", "ended", "reason")
    with capture_logs() as lines:
        for count in range(3 * ThrottledLogs.WORDS_MAX):
            logs.report(f"reason {count}")
        assert len(lines) == ThrottledLogs.WORDS_MAX + 1
        logs.check_quiet(0)
        ended = [line for line in lines if line["event"] == "ended"]
        assert len(ended) == ThrottledLogs.WORDS_MAX + 1
        logs.report("reason 200")
    assert lines[-1] == {"event": "told", "log_level": "warning", "times": 1, "reason": "reason 200"}
