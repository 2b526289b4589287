"""The change of a planned campaign to other options, by the table in `change_rules.py`."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from drumbeat.campaigns.describe_database import describe_database
from drumbeat.campaigns.options.identity import NAME, NOTED, Identity, told
from drumbeat.campaigns.options.schedule import RECIPIENT
from drumbeat.campaigns.options.stored_variables import VARIABLES
from drumbeat.campaigns.planning.asked import Asked
from drumbeat.campaigns.planning.change_rules import Change, Effect, decide_changes, effect_of
from drumbeat.campaigns.planning.removal import remove_planned
from drumbeat.campaigns.planning.start_time import StartsAtOnce
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.states import CampaignState
from drumbeat.engine.errors import ConfigurationError, TryLater
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.queries import queries

START_AT = "start_at"


_EXISTS = 'the campaign "{campaign}" exists with another file or other options: '


class ChangeRefused(ConfigurationError):
    """The campaign exists with other options, and not all of them may change now."""

    def __init__(self, name: str, changes: Sequence[Change], *, where: str) -> None:
        form, values = told((change.difference, change.reason) for change in changes)
        super().__init__(
            _EXISTS + form,
            where=where,
            remedy="nothing was changed; use another name or external id, or repeat the original options",
            key="name",
            values={"campaign": name, **values},
        )
        self.changes = changes


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCampaign:
    """A planned campaign, as it is stored."""

    campaign_id: int
    name: str
    state: CampaignState
    content_hash: str
    options: Mapping[str, Any]

    def changes_to(self, identity: Identity) -> tuple[Change, ...]:
        """Return the differences from what is asked for, and the consequence of each."""
        zones = {options.get("time_zone") for options in (self.options, identity.options)}
        return decide_changes(
            self.state, identity.differences(self.options), in_recipient_zone=RECIPIENT in zones
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRequest:
    """The wish of `actor` to change a campaign that exists. In the states `unchanged_in`, nothing may change.
    With `now`, a scheduled campaign may send at once.
    """

    actor: str
    unchanged_in: Collection[CampaignState] = ()
    now: bool = False


async def allowed_changes(
    connection: Connection, known: KnownCampaign, identity: Identity, request: ChangeRequest
) -> Sequence[Change]:
    """Return the differences from what is asked for.

    Raise ChangeRefused, with all of them, if one may not change; TryLater if none may in this state.
    """
    changes = known.changes_to(identity)
    if changes and known.state in request.unchanged_in:
        raise TryLater(
            f'the campaign "{known.name}" is {known.state}, and another person approved it as it is',
            remedy="pause it first, then have its start approved again; a clone can change everything",
        )
    if effect_of(changes) is not Effect.REFUSED:
        return changes
    raise ChangeRefused(known.name, changes, where=await describe_database(connection))


class NameTaken(ConfigurationError):
    """The error of a name that another campaign has."""

    code = "name_taken"


async def differs(connection: Connection, known: KnownCampaign, identity: Identity) -> ConfigurationError:
    """Return the error of a create whose name or external id another campaign has."""
    has_name = identity.options[NAME] == known.name
    kind = NameTaken if has_name else ConfigurationError
    form, values = told((difference, "") for difference in identity.differences(known.options))
    return kind(
        _EXISTS + form,
        where=await describe_database(connection),
        remedy="use another name or external id, or repeat the original options",
        key="name" if has_name else "external_id",
        values={"campaign": known.name, **values},
    )


async def require_later_start(
    connection: Connection, known: KnownCampaign, start_at: datetime | None, changes: Sequence[Change]
) -> None:
    """Raise StartsAtOnce if the change starts a campaign that waits for its time. The database's clock
    decides, because it starts the campaign. A draft starts only when somebody starts it.
    """
    moved = any(change.difference.option == START_AT for change in changes)
    if not moved or known.state is not CampaignState.SCHEDULED:
        return
    seconds_until = statements("campaign_control")["seconds_until"]
    if start_at is None or await connection.fetchval(seconds_until, start_at) <= 0:
        raise StartsAtOnce(known.name, start_at)


async def change_row(
    connection: Connection, known: KnownCampaign, asked: Asked, changes: Sequence[Change], *, actor: str
) -> None:
    """Store the options. Running processes read them within a second.

    Raise TryLater if the campaign changed since it was read.
    """
    async with connection.transaction():
        found = await connection.fetchval(
            statements("plan")["change_campaign"],
            known.campaign_id,
            known.content_hash,
            known.state.value,
            *_columns(known, asked),
        )
        if found is None:
            raise TryLater(f'the campaign "{known.name}" changed meanwhile', remedy="repeat the command")
        detail = {
            change.difference.option: [change.difference.old, change.difference.new] for change in changes
        }
        await connection.execute(queries("campaigns")["audit"], actor, "edit", known.campaign_id, detail)


def _columns(known: KnownCampaign, asked: Asked) -> tuple[Any, ...]:
    """Return the arguments of the statement `change_campaign` after the first three."""
    spec, schedule = asked.spec, asked.guards.schedule
    beside = {key: known.options[key] for key in (NOTED, VARIABLES) if key in known.options}
    return (
        asked.identity.content_hash,
        {**asked.identity.options, **beside},
        spec.phone_number_ids,
        spec.on_unknown,
        schedule.window_opens,
        schedule.window_closes,
        schedule.time_zone,
        schedule.start_at,
        schedule.expires_at,
        spec.max_failed,
        spec.urgency.word,
        spec.share,
        spec.pause_at_failed,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """A draft that a new plan replaces once everything about the new one is checked."""

    known: KnownCampaign
    actor: str

    async def remove(self, connection: Connection, identity: Identity) -> None:
        """Remove the draft so that it can be planned anew. Raise TryLater if it is no draft any more."""
        changed = [difference.option for difference in identity.differences(self.known.options)]
        await remove_planned(
            connection,
            self.known.campaign_id,
            self.known.name,
            {CampaignState.DRAFT},
            actor=self.actor,
            action="replan",
            detail={"name": self.known.name, "changed": changed},
        )
