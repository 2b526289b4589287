"""How long a campaign takes, in the words of its plan."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from drumbeat.campaigns.console.web.language import texts_of
from drumbeat.campaigns.console.web.rendering import environment

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


def takes(**plan: Any) -> str:
    module: Any = environment().get_template("plan_parts.html.j2").module
    given = {"sending_s": 10.0, "starts_at": NOON, "ends_at": NOON + timedelta(seconds=10), **plan}
    return re.sub(r"\s+", " ", re.sub("<[^>]+>", "", module.takes(texts_of("en"), given, "Europe/Berlin")))


def test_the_time_from_the_first_to_the_last_message_counts_also_while_it_waits() -> None:
    found = takes(ends_at=NOON + timedelta(hours=26))
    assert found.strip().startswith(
        "1 d 2 h First message 2026-07-01 14:00 Europe/Berlin, last 2026-07-02 16:00"
    )
    assert "10 s of it is sending" in found


def test_a_campaign_that_never_waits_says_nothing_of_waiting() -> None:
    assert takes().strip().startswith("10 s First message") and "waiting" not in takes()


def test_an_end_that_nobody_lives_to_see_is_no_time() -> None:
    assert takes(ends_at=None).strip() == "more than ten years"
