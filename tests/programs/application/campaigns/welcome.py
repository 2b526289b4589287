"""A welcome to new customers, as a shop would send it."""

from collections.abc import Iterable, Mapping

from drumbeat.api import CampaignStatus, Drumbeat, RecipientState, open_drumbeat

NUMBER = "106540352242922"


async def plan(drumbeat: Drumbeat, name: str, customers: Iterable[Mapping[str, object]]) -> list[int]:
    """Plan the campaign; return the rows that nothing can be sent to."""
    created = await drumbeat.create(
        name=name,
        template="order_shipped",
        language="en_US",
        number=NUMBER,
        param=["first_name", "order"],
        default={"first_name": "friend"},
        audience=customers,
    )
    return [reject.line for reject in created.audience.rejected_rows]


async def welcome(name: str, customers: Iterable[Mapping[str, object]]) -> tuple[list[int], CampaignStatus]:
    """Send a welcome to all customers, and wait for the last status."""
    async with open_drumbeat() as drumbeat:
        await drumbeat.sync()
        rejected = await plan(drumbeat, name, customers)
        (await drumbeat.run(name)).require_complete()
        status = await drumbeat.status(name)
        async for status in drumbeat.watch(name, period_s=0.05, timeout_s=30):
            print(name, status.counts[RecipientState.DELIVERED])
        return rejected, status
