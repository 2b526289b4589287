"""The plans with their cost, by the table of prices that the settings name."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from drumbeat.campaigns.console.web.context import Console
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.created import CreatedCampaign
from drumbeat.campaigns.preview.draft_plan import plan_of_draft
from drumbeat.campaigns.preview.plan import CampaignPlan, plan_of
from drumbeat.campaigns.prices import PriceTable, read_prices
from drumbeat.engine.errors import ConfigurationError

NO_TABLE = "there is no table of prices: an operator names one with DRUMBEAT_PRICES"


async def stored_plan(console: Console, name: str) -> dict[str, Any]:
    """Return the plan of a stored campaign as if it started now. Reads all of its recipients."""
    scope = console.settings.quota_scope
    async with console.whole_readings:
        return await _priced(
            console, lambda prices: plan_of(console.pool, name, prices, datetime.now(UTC), scope)
        )


async def draft_plan(console: Console, spec: CampaignSpec, created: CreatedCampaign) -> dict[str, Any] | None:
    """Return the plan of a campaign that a dry run checked, or None if the campaign exists already."""
    if not created.audience.heads:
        return None
    scope, now = console.settings.quota_scope, datetime.now(UTC)
    return await _priced(
        console, lambda prices: plan_of_draft(console.pool, spec, created, prices, now, scope)
    )


async def _priced(
    console: Console, plan: Callable[[PriceTable | None], Awaitable[CampaignPlan]]
) -> dict[str, Any]:
    """Return the plan with its cost, or without it if the prices cannot be read: the plan alone is useful
    too.
    """
    path = console.settings.prices
    if path is None:
        return _json(await plan(None), NO_TABLE)
    try:
        return _json(await plan(await asyncio.to_thread(read_prices, path)), "")
    except ConfigurationError as error:
        return _json(await plan(None), f"{error.what}: {error.remedy}" if error.remedy else error.what)


def _json(plan: CampaignPlan, problem: str) -> dict[str, Any]:
    return {**plan.as_json(), "cost_problem": problem}
