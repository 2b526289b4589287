"""The fewest recipients that an audience must have."""

from drumbeat.campaigns.campaign import find_campaign
from drumbeat.campaigns.options.readiness import LeastOf
from drumbeat.campaigns.sql import statements
from drumbeat.engine.store.database import Connection


async def least_recipients(connection: Connection, least: int | LeastOf | None, name: str) -> int:
    """Return the number; a share is rounded up. The campaign `name` itself does not count. A pattern that
    fits no campaign with recipients asks for none: on the first night there is nothing to compare with.

    Raise NotFound if a campaign that is named does not exist.
    """
    if not isinstance(least, LeastOf):
        return least or 0
    if least.is_pattern:
        of = await connection.fetchval(statements("plan")["newest_like"], _like(least.name), name) or 0
    else:
        of = (await find_campaign(connection, least.name)).recipients or 0
    return -(-of * least.percent // 100)


def _like(pattern: str) -> str:
    escaped = pattern.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return escaped.replace("*", "%")
