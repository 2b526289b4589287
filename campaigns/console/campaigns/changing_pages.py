"""The pages to edit and to clone: the options of a campaign as a form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from drumbeat.campaigns.account.numbers import list_numbers
from drumbeat.campaigns.campaign import Campaign
from drumbeat.campaigns.console.campaigns import actions
from drumbeat.campaigns.console.campaigns.named import campaign_url, named_campaign
from drumbeat.campaigns.console.campaigns.steering_shapes import CloneRequest, EditRequest
from drumbeat.campaigns.console.web.context import caller_of, console_of
from drumbeat.campaigns.console.web.forms import field_of, form_of
from drumbeat.campaigns.console.web.local_times import clock_of, local_of, moment_of
from drumbeat.campaigns.console.web.rendering import page
from drumbeat.campaigns.console.web.two_people import waiting
from drumbeat.campaigns.console.web.work import attempt_long
from drumbeat.campaigns.life.approval import APPROVED_STATES
from drumbeat.campaigns.life.second_person import Wish
from drumbeat.campaigns.options.spec import ON_UNKNOWN
from drumbeat.campaigns.options.stored import stored_options
from drumbeat.campaigns.planning.change_rules import CHANGEABLE
from drumbeat.campaigns.progress import ProgressCallback
from drumbeat.engine.core.order import Priority
from drumbeat.engine.core.states import CampaignState, RecipientState

NUMBER = "number"


@dataclass(frozen=True, slots=True)
class Field:
    """An option by its key. `example`: the text that an empty field shows. `choices`: the first is the
    default.
    """

    key: str
    example: str = ""
    choices: tuple[str, ...] = ()

    def may_change(self, state: CampaignState) -> bool:
        return state is CampaignState.DRAFT or state in CHANGEABLE.get(self.key, frozenset())


FIELDS = (
    Field("start_at"),
    Field("expires_at"),
    Field("window", "09:00-20:00"),
    Field("time_zone", "UTC"),
    Field("days", "mon-fri"),
    Field("quiet_hours", "20:00-09:00"),
    Field("cap", "2/7d"),
    Field("max_recipients", "50000"),
    Field("priority", choices=tuple(each.word for each in (Priority.NORMAL, Priority.HIGH, Priority.LOW))),
    Field("share", "30"),
    Field("pause_at_failed", "10%"),
    Field("max_failed", "5%"),
    Field("canary", "500"),
    Field("canary_max_failed", "5%"),
    Field("canary_minutes", "15"),
    Field("on_unknown", choices=ON_UNKNOWN),
)
NUMBERS = Field(NUMBER)
TIMES = ("start_at", "expires_at")


async def show_edit(request: web.Request) -> web.Response:
    values = await _edit_values(request)
    return page(request, "edit.html.j2", **values)


async def edit(request: web.Request) -> web.Response:
    """Change the options that differ. An option that the form does not show stays."""
    values = await _edit_values(request)
    campaign, stored = values["campaign"], values["given"]
    posted = await form_of(request)
    sent = {each.key: str(posted.get(each.key, "")).strip() for each in values["fields"]}
    clock = str(posted.get("clock", "")) or values["clock"]
    sent |= {key: moment_in(stored.get(key), sent[key], clock) for key in TIMES if key in sent}
    changes, unset = differences(stored, sent)
    picked = [str(number) for number in posted.getall(NUMBER, [])]
    if values["may_change_numbers"] and sorted(picked) != sorted(stored.get(NUMBER, ())):
        changes[NUMBER] = picked

    async def work(progress: ProgressCallback) -> str:
        if changes or unset:
            asked = EditRequest(changes=changes, unset=unset)
            done = await actions.edit(console_of(request), caller_of(request), campaign.name, asked, progress)
            if done["note"]:
                return campaign_url(campaign.name, "edit")
        return campaign_url(campaign.name)

    typed = {**stored, **sent, **({NUMBER: picked} if values["may_change_numbers"] else {})}
    costly = await actions.is_planned_anew(console_of(request), campaign.name)
    return await attempt_long(
        request, "edit.html.j2", work, costly=costly, **{**values, "given": typed, "clock": clock}
    )


def moment_in(stored: str | None, typed: str, clock: str) -> str:
    """Return the time that was typed on this clock. If it looks like the stored time, return the stored one,
    which may have seconds.
    """
    if stored is not None and local_of(stored, clock) == typed:
        return stored
    return moment_of(typed, clock)


def differences(stored: Mapping[str, Any], sent: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Return the options that a form changes, and the keys that it leaves empty and that had a value
    before.
    """
    changes = {key: text for key, text in sent.items() if text and text != str(stored.get(key, ""))}
    changes = {key: text for key, text in changes.items() if key in stored or text != default_of(key)}
    return changes, [key for key, text in sent.items() if not text and key in stored]


def default_of(key: str) -> str:
    """Return the text that a list shows while nothing is chosen."""
    return next((each.choices[0] for each in FIELDS if each.key == key and each.choices), "")


async def _edit_values(request: web.Request) -> dict[str, Any]:
    campaign, console = await named_campaign(request), console_of(request)
    stored = await stored_options(console.pool, campaign.name)
    return {
        "campaign": campaign,
        "is_approved": console.own.approval and campaign.state in APPROVED_STATES,
        "given": stored.values,
        "times": TIMES,
        "clock": clock_of(stored.values.get("time_zone")),
        "fields": [each for each in FIELDS if each.may_change(campaign.state)],
        "may_change_numbers": NUMBERS.may_change(campaign.state),
        "numbers": await list_numbers(console.pool),
        "asked": await waiting(console, Wish.EDIT, campaign.campaign_id),
    }


async def show_clone(request: web.Request) -> web.Response:
    campaign = await named_campaign(request)
    given = {"new_name": "", "state": request.query.get("state", "")}
    return page(request, "clone.html.j2", **_clone_values(campaign, given))


async def clone(request: web.Request) -> web.Response:
    """Create a draft with the same options, for the stored recipients or those of one state."""
    campaign = await named_campaign(request)
    given = {field: await field_of(request, field) for field in ("new_name", "state")}

    async def work(progress: ProgressCallback) -> str:
        people = {"audience_campaign": campaign.name, **({"state": given["state"]} if given["state"] else {})}
        asked = CloneRequest(name=given["new_name"], changes=people)
        planned = await actions.clone(console_of(request), caller_of(request), campaign.name, asked, progress)
        return campaign_url(planned["name"])

    return await attempt_long(request, "clone.html.j2", work, **_clone_values(campaign, given))


def _clone_values(campaign: Campaign, given: dict[str, str]) -> dict[str, Any]:
    return {"campaign": campaign, "given": given, "states": list(RecipientState)}
