"""Sends today's orders, as a job of another system would: once, however often it is started.

python docs/examples/daily_orders.py ORDERS.toml CUSTOMERS.csv

The settings are those of the command `drumbeat`: environment variables or drumbeat.toml.
"""

import asyncio
import sys
from datetime import UTC, datetime, timedelta

from drumbeat.api import Drumbeat, DrumbeatError, RecipientState, open_drumbeat


async def send(drumbeat: Drumbeat, manifest: str, audience: str) -> None:
    now = datetime.now(UTC)
    name = f"orders-{now:%F}"
    created = await drumbeat.apply(manifest, name=name, audience=audience)
    print(f"{name}: {created.counts.recipients} recipients, {created.counts.rejected} rejected")

    result = await drumbeat.run(name, until=now + timedelta(hours=8), max_failed="5%")
    result.require_complete()

    async for recipient in drumbeat.recipients(name, state=RecipientState.FAILED):
        print(f"{recipient.phone} failed: {recipient.reason}")
    status = await drumbeat.status(name)
    print(f"{name}: {status.state}, {status.counts[RecipientState.ACCEPTED]} accepted")


async def main(manifest: str, audience: str) -> int:
    async with open_drumbeat() as drumbeat:
        try:
            await send(drumbeat, manifest, audience)
        except DrumbeatError as error:
            print(error, file=sys.stderr)
            return error.exit_code  # as the command has it: 75 means try later
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2])))
