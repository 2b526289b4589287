"""Every kind of call that the pages show, as type checkers must take it."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from drumbeat.api import (
    CampaignStatus,
    CreatedCampaign,
    DrumbeatError,
    RecipientState,
    SentToOne,
    open_drumbeat,
)


def people() -> Iterator[dict[str, str | int | None]]:
    yield {"phone": "+14155550101", "first_name": None, "order": 1}


async def main() -> int:
    async with open_drumbeat(home=Path("home"), base_url="https://service.example") as drumbeat:
        try:
            await drumbeat.sync()
            created: CreatedCampaign = await drumbeat.create(
                name="spring",
                template="offer",
                language="en",
                number="106540352242922",
                param=["first_name"],
                default={"first_name": "friend"},
                start_at=datetime.now(UTC),
                audience=people(),
            )
            await drumbeat.create(
                name="tuples",
                template="offer",
                language="en",
                number=["1", "2"],
                audience=[("phone",), ("+1",)],
            )
            await drumbeat.check(
                name="file", template="offer", language="en", number="1", audience="people.csv"
            )
            await drumbeat.apply("spring.toml", name="spring", audience=Path("people.csv"), max_failed="5%")
            await drumbeat.edit("spring", window="09:00-20:00", unset=["days"])
            (await drumbeat.run("spring", until=None)).require_complete()
            status: CampaignStatus
            async for status in drumbeat.watch("spring"):
                print(status.counts[RecipientState.READ])
            async for recipient in drumbeat.recipients("spring", state=RecipientState.FAILED):
                print(recipient.phone.upper(), recipient.code)
            sent: SentToOne = await drumbeat.send("+14155550101", number="1", text="Hello")
            print(
                created.counts.recipients, sent.wamid, (await drumbeat.settle("spring", "resend")).recipients
            )
        except DrumbeatError as error:
            print(error.code, error.remedy)
            return error.exit_code
    return 0


asyncio.run(main())
