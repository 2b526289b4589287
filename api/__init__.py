"""Drumbeat for programs: what the commands do, as methods that return records.

    from drumbeat.api import open_drumbeat

    async with open_drumbeat() as drumbeat:
        await drumbeat.sync()
        await drumbeat.create(name="spring", template="offer", language="en", number="1", audience=people)
        result = await drumbeat.run("spring")
        result.require_complete()

What cannot be done raises a `DrumbeatError` with `code`, `what`, `where`, `remedy` and the exit code of the
command. Nothing is written to stdout or stderr: events go to the logger `drumbeat`, with secrets and phones
masked. Names that are listed here are stable; every other module of the package may change at any time.
"""

from drumbeat.api.account import Synced
from drumbeat.api.client import Drumbeat, SettingsOptions, open_drumbeat
from drumbeat.api.options import (
    AudienceOption,
    CampaignChanges,
    ManifestChanges,
    NamedRowFrame,
    NewCampaign,
    RecordFrame,
)
from drumbeat.api.planning import Preview
from drumbeat.api.results import Recipient
from drumbeat.campaigns.account.numbers import BusinessNumber, ResumedNumber
from drumbeat.campaigns.account.templates import StoredTemplate
from drumbeat.campaigns.campaign import Campaign
from drumbeat.campaigns.changing.delete import DeletedCampaign
from drumbeat.campaigns.changing.send_message import SentToOne
from drumbeat.campaigns.life.category import CategoryChanged
from drumbeat.campaigns.life.control import CampaignChange
from drumbeat.campaigns.life.run import RunResult
from drumbeat.campaigns.life.settle import Settled
from drumbeat.campaigns.life.template_check import TemplateStopped
from drumbeat.campaigns.options.sources import PhoneKind
from drumbeat.campaigns.phones.suppression import Suppression, SuppressionCounts
from drumbeat.campaigns.planning.change import ChangeRefused, NameTaken
from drumbeat.campaigns.planning.created import CreatedCampaign
from drumbeat.campaigns.planning.start_time import StartsAtOnce
from drumbeat.campaigns.preview.plan import CampaignPlan
from drumbeat.campaigns.reject import Reject
from drumbeat.campaigns.results.export_files import ExportForm
from drumbeat.campaigns.results.person import Person, PersonCampaign
from drumbeat.campaigns.results.report import Report
from drumbeat.campaigns.results.status import CampaignStatus
from drumbeat.campaigns.results.subscriptions import NewSubscription, Subscription
from drumbeat.engine.api.service_error import ServiceError
from drumbeat.engine.core.recipient_event import EventKind
from drumbeat.engine.core.states import CampaignState, IllegalTransition, ReasonCode, RecipientState
from drumbeat.engine.errors import (
    AuthenticationError,
    ConfigurationError,
    DrumbeatError,
    Incomplete,
    NotFound,
    NotReady,
    TryLater,
    Unreachable,
    UsageError,
)
from drumbeat.engine.store.leases import NumberHeld
from drumbeat.engine.store.recipient_events import EventPage, RecipientEvent

__all__ = [
    "AudienceOption",
    "AuthenticationError",
    "BusinessNumber",
    "Campaign",
    "CampaignChange",
    "CampaignChanges",
    "CampaignPlan",
    "CampaignState",
    "CampaignStatus",
    "CategoryChanged",
    "ChangeRefused",
    "ConfigurationError",
    "CreatedCampaign",
    "DeletedCampaign",
    "Drumbeat",
    "DrumbeatError",
    "EventKind",
    "EventPage",
    "ExportForm",
    "IllegalTransition",
    "Incomplete",
    "ManifestChanges",
    "NameTaken",
    "NamedRowFrame",
    "NewCampaign",
    "NewSubscription",
    "NotFound",
    "NotReady",
    "NumberHeld",
    "Person",
    "PersonCampaign",
    "PhoneKind",
    "Preview",
    "ReasonCode",
    "Recipient",
    "RecipientEvent",
    "RecipientState",
    "RecordFrame",
    "Reject",
    "Report",
    "ResumedNumber",
    "RunResult",
    "SentToOne",
    "ServiceError",
    "SettingsOptions",
    "Settled",
    "StartsAtOnce",
    "StoredTemplate",
    "Subscription",
    "Suppression",
    "SuppressionCounts",
    "Synced",
    "TemplateStopped",
    "TryLater",
    "Unreachable",
    "UsageError",
    "open_drumbeat",
]
