"""Whoever is in doubt after a run: the time is told, and the next run sends again when the policy allows it."""

from drumbeat.api import RecipientState, open_drumbeat
from drumbeat.campaigns.life.doubt import outlook
from drumbeat.testing import NUMBER, DrumbeatHome
from tests.kit.waiting import until

PEOPLE = [{"phone": f"+1415555010{n}", "name": "Ada", "order": n} for n in range(3)]
SILENCE_S = 1.0


async def test_a_run_of_a_finished_campaign_sends_to_those_whose_time_has_come(
    drumbeat_home: DrumbeatHome,
) -> None:
    service = drumbeat_home.emulator
    service.fault("reset-before-accepting", probability=1, count=1)
    async with open_drumbeat(silence_s=SILENCE_S) as drumbeat, open_drumbeat() as other:
        await drumbeat.sync()
        await drumbeat.create(
            name="spring", template="order_shipped", language="en_US", number=NUMBER, audience=PEOPLE,
            param=["name", "order"], on_unknown="resend-silent",
        )  # fmt: skip
        first = await drumbeat.run("spring")
        assert first.status.in_doubt == 1
        told = str(first.problem)
        assert "1 in doubt" in told and "another run or a worker sends to them again from" in told, told

        async def time_has_come() -> bool:
            """Other messages through the number bring events, which show that the receiver receives."""
            await other.send("+14155550199", number=NUMBER, template="order_shipped", language="en_US",
                                params=["Ada", "7"])  # fmt: skip
            return (await drumbeat.settle("spring")).left.probably_not_sent == 1

        await until(time_has_come)
        again = await drumbeat.run("spring")
        again.require_complete()
        assert again.status.counts[RecipientState.UNKNOWN] == 0
    reached = [message.phone for message in service.messages if message.phone != "14155550199"]
    assert sorted(reached) == [f"1415555010{n}" for n in range(3)]


async def test_without_events_nothing_is_promised(drumbeat_home: DrumbeatHome) -> None:
    service = drumbeat_home.emulator
    service.fault("events-missing", probability=1)
    service.fault("reset-before-accepting", probability=1, count=1)
    async with open_drumbeat() as drumbeat:
        await drumbeat.sync()
        await drumbeat.create(
            name="spring", template="order_shipped", language="en_US", number=NUMBER, audience=PEOPLE,
            param=["name", "order"],
        )  # fmt: skip
        ended = await drumbeat.run("spring")
        assert "no events of their numbers arrive now" in str(ended.problem)
        settled = await drumbeat.settle("spring")
        assert settled.left.all_silent_at is None and outlook(settled.campaign, settled.left)
