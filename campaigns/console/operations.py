"""The table of all operations of the interface. It makes the routes and the document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from drumbeat.campaigns.console.account import api as account
from drumbeat.campaigns.console.account import shapes as account_shapes
from drumbeat.campaigns.console.account import user_api as people
from drumbeat.campaigns.console.campaigns import actions as steering
from drumbeat.campaigns.console.campaigns import api as campaigns
from drumbeat.campaigns.console.campaigns import exporting, shapes, steering_shapes
from drumbeat.campaigns.console.campaigns import results_api as results
from drumbeat.campaigns.console.campaigns.shapes import NoQuery
from drumbeat.campaigns.console.new import api as lists
from drumbeat.campaigns.console.new import creation
from drumbeat.campaigns.console.new import shapes as list_shapes
from drumbeat.campaigns.console.new.create_request import CreateRequest
from drumbeat.campaigns.console.web.context import Handler, Route
from drumbeat.campaigns.console.web.request_limits import (
    EXPORTS,
    LIST_CHECKS,
    SERVICE_CALLS,
    TEST_SENDS,
    UPLOADS,
    WHOLE_READINGS,
    Allowance,
)
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.life.forget import ForgetReceipt
from drumbeat.campaigns.results.audit_pages import AuditPage
from drumbeat.campaigns.results.campaign_pages import CampaignPage
from drumbeat.campaigns.results.phone_history import PhoneHistory
from drumbeat.campaigns.results.recipient_pages import RecipientPage
from drumbeat.campaigns.results.replies import ReplyPage

PREFIX = "/api/v1"
LOOK, SEND, MANAGE = Role.LOOK, Role.SEND, Role.MANAGE
JSON, CSV, EVENTS = "application/json", "text/csv", "text/event-stream"


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the interface. `reply` is the class that describes the reply; None stands for any text
    of the media type. `takes_key`: it takes an Idempotency-Key. `needs_key`: it needs one. `takes_long`: it
    may be answered with 202 and the address of its job.
    """

    method: str
    path: str
    role: Role
    summary: str
    handler: Handler
    reply: Any = None
    query: type[BaseModel] = NoQuery
    request: type[BaseModel] | None = None
    status: int = 200
    media_type: str = JSON
    request_type: str = JSON
    takes_key: bool = False
    needs_key: bool = False
    takes_long: bool = False
    allowance: Allowance | None = None

    @property
    def route(self) -> Route:
        return Route(self.method, PREFIX + self.path, self.role, self.handler, self.allowance)


CAMPAIGN = "/campaigns/{name}"
LIST = "/lists/{reference}"


def _steering(
    word: str, summary: str, action: campaigns.Steer, query: type[BaseModel] = NoQuery
) -> Operation:
    path, handler = f"{CAMPAIGN}/{word}", campaigns.replying(action)
    return Operation("POST", path, SEND, summary, handler, shapes.Change, query)


OPERATIONS = (
    Operation(
        "GET", "/campaigns", LOOK, "List campaigns, the newest first", campaigns.list_campaigns,
        CampaignPage, shapes.CampaignsQuery,
    ),
    Operation(
        "POST", "/campaigns", SEND, "Create a campaign from an uploaded audience", creation.create,
        shapes.Created, request=list_shapes.CreateUpload, request_type="multipart/form-data",
        takes_key=True, takes_long=True, allowance=UPLOADS,
    ),
    Operation(
        "POST", "/lists", SEND, "Upload a list, to check and correct it first", lists.add,
        list_shapes.UploadedList, request=list_shapes.ListUpload, request_type="multipart/form-data",
        status=201, allowance=UPLOADS,
    ),
    Operation(
        "POST", f"{LIST}/check", SEND, "Check the rows of a list; waits some seconds", lists.check,
        list_shapes.CheckedList, request=list_shapes.ListCheckRequest, allowance=LIST_CHECKS,
    ),
    Operation(
        "POST", f"{LIST}/corrections", SEND, "Correct rows of a list; the file stays as it is", lists.correct,
        list_shapes.CorrectedCount, request=list_shapes.CorrectionsRequest,
    ),
    Operation(
        "POST", f"{LIST}/campaign", SEND, "Create a campaign from a list", lists.create, shapes.Created,
        request=CreateRequest, takes_key=True, takes_long=True,
    ),
    Operation("DELETE", LIST, SEND, "Remove an uploaded list", lists.remove, list_shapes.RemovedList),
    Operation("GET", CAMPAIGN, LOOK, "Show the status of a campaign", campaigns.show_campaign, shapes.Status),
    Operation(
        "GET", f"{CAMPAIGN}/progress", LOOK, "Stream its status as events named progress",
        campaigns.stream_progress, media_type=EVENTS,
    ),
    Operation(
        "GET", f"{CAMPAIGN}/report", LOOK, "Show reasons, numbers and actions", campaigns.show_report,
        shapes.Report, allowance=WHOLE_READINGS,
    ),
    Operation(
        "GET", f"{CAMPAIGN}/results", LOOK, "Show times, variants, rates, and recipients by each property",
        results.show_results, results.Results,
    ),
    Operation(
        "GET", f"{CAMPAIGN}/recipients", LOOK, "List recipients by state or code", campaigns.list_recipients,
        RecipientPage, shapes.RecipientsQuery,
    ),
    Operation(
        "GET", f"{CAMPAIGN}/export", LOOK, "Export recipients by a filter, as CSV or as `format` says",
        exporting.export, None, steering_shapes.ExportQuery, media_type=CSV, allowance=EXPORTS,
    ),
    Operation(
        "GET", f"{CAMPAIGN}/preview", LOOK, "Show the message of one recipient", campaigns.preview,
        shapes.Preview, shapes.RecipientQuery,
    ),
    Operation(
        "GET", f"{CAMPAIGN}/plan", LOOK, "Show recipients, times and cost before the start", campaigns.plan,
        shapes.Plan, allowance=WHOLE_READINGS,
    ),
    _steering("start", "Start a campaign: the workers send it", campaigns.start_named),
    _steering("pause", "Pause a campaign", campaigns.pause_named),
    _steering("resume", "Resume a paused campaign", campaigns.resume_named, shapes.ResumeQuery),
    _steering("approve", "Approve the canary of a campaign", campaigns.approve_named),
    _steering("cancel", "Cancel a campaign for good", campaigns.cancel_named),
    Operation(
        "POST", f"{CAMPAIGN}/test-sends", SEND, "Send its message to own phones as a test",
        campaigns.test_send, shapes.TestSends, request=shapes.TestSendRequest, status=201, takes_key=True,
        needs_key=True, allowance=TEST_SENDS,
    ),
    Operation(
        "POST", f"{CAMPAIGN}/retries", SEND, "Plan a campaign for the recipients whom it did not reach",
        steering.retry, steering_shapes.Planned, request=steering_shapes.RetryRequest, takes_key=True,
        takes_long=True,
    ),
    Operation(
        "POST", f"{CAMPAIGN}/clones", SEND, "Create a draft with the options of a campaign", steering.clone,
        steering_shapes.Planned, request=steering_shapes.CloneRequest, takes_key=True,
        takes_long=True,
    ),
    Operation(
        "PATCH", CAMPAIGN, SEND, "Change the options of a campaign", steering.edit, steering_shapes.Planned,
        request=steering_shapes.EditRequest, takes_long=True,
    ),
    Operation(
        "DELETE", CAMPAIGN, SEND, "Delete a campaign that was never started", steering.delete,
        steering_shapes.Deleted,
    ),
    Operation(
        "GET", f"{CAMPAIGN}/doubts", LOOK, "Show the recipients in doubt, and the reasons", steering.doubts,
        steering_shapes.Doubts,
    ),
    Operation(
        "POST", f"{CAMPAIGN}/doubts", SEND, "Send again to the recipients in doubt, or take them as sent",
        steering.settle, steering_shapes.Doubts, request=steering_shapes.SettleRequest,
    ),
    Operation(
        "POST", f"{CAMPAIGN}/suppressions", SEND, "Suppress recipients of a campaign by a filter",
        steering.suppress, shapes.SuppressionChange, request=steering_shapes.SuppressMatching,
        takes_long=True,
    ),
    Operation(
        "GET", "/jobs/{reference}", SEND, "Show the progress of a job that was answered with 202",
        steering.show_job, steering_shapes.Job,
    ),
    Operation(
        "GET", f"{CAMPAIGN}/replies", LOOK, "List the replies of its recipients, the newest first",
        steering.campaign_replies, ReplyPage, steering_shapes.RepliesQuery,
    ),
    Operation(
        "GET", "/replies", LOOK, "List the replies of all people, the newest first", steering.replies,
        ReplyPage, steering_shapes.RepliesQuery,
    ),
    Operation(
        "GET", "/people/{phone}", LOOK, "Show all that happened to a phone", account.person, PhoneHistory,
        shapes.PhoneQuery,
    ),
    Operation(
        "DELETE", "/people/{phone}", MANAGE, "Erase a person, for good", account.erase, ForgetReceipt,
        shapes.PhoneQuery,
    ),
    Operation("GET", "/numbers", LOOK, "List the business numbers", account.numbers, shapes.NumberList),
    Operation(
        "POST", "/numbers/{number}/resume", SEND, "Let a stopped number send again", account.resume,
        shapes.NumberResumed,
    ),
    Operation(
        "PUT", "/numbers/{number}/limit", MANAGE, "Set the limit of a number", account.limit,
        shapes.NumberLimit, request=shapes.LimitRequest,
    ),
    Operation(
        "POST", "/numbers/sync", SEND, "Read the numbers from the service", account.sync_all_numbers,
        shapes.NumberList, allowance=SERVICE_CALLS,
    ),
    Operation("GET", "/templates", LOOK, "List the templates", account.templates, shapes.TemplateList),
    Operation(
        "POST", "/templates", SEND, "Submit a template for review", account.submit_template,
        account_shapes.SubmittedTemplate, request=account_shapes.TemplateRequest, status=201, takes_key=True,
        allowance=SERVICE_CALLS,
    ),
    Operation(
        "POST", "/templates/sync", SEND, "Read the templates from the service", account.sync_all_templates,
        shapes.TemplateList, allowance=SERVICE_CALLS,
    ),
    Operation(
        "GET", "/templates/{name}", LOOK, "Show a template in each language", account.template,
        shapes.TemplateList,
    ),
    Operation(
        "DELETE", "/templates/{name}", SEND, "Delete a template at the service", account.remove_template,
        account_shapes.DeletedTemplate, account_shapes.TemplateToDelete, allowance=SERVICE_CALLS,
    ),
    Operation(
        "GET", "/suppressions", LOOK, "List the suppressed phones, by phone", account.suppressions,
        shapes.SuppressionList, shapes.SuppressionsQuery,
    ),
    Operation(
        "POST", "/suppressions", SEND, "Suppress phones", account.suppress, shapes.SuppressionChange,
        request=shapes.SuppressRequest,
    ),
    Operation(
        "POST", "/suppressions/import", SEND, "Suppress the phones of a file", account.import_list,
        account_shapes.SuppressionImported, request=account_shapes.SuppressionUpload,
        request_type="multipart/form-data", takes_long=True, allowance=UPLOADS,
    ),
    Operation(
        "GET", "/suppressions/export", LOOK, "Export the suppression list as CSV",
        account.export_suppressions, media_type=CSV, allowance=EXPORTS,
    ),
    Operation(
        "DELETE", "/suppressions/{phone}", MANAGE, "Take a phone off the list", account.unsuppress,
        shapes.SuppressionChange,
    ),
    Operation(
        "GET", "/audit", LOOK, "List the actions of people and programs, the newest first", account.audit,
        AuditPage, shapes.AuditQuery,
    ),
    Operation("GET", "/users", MANAGE, "List the users", people.users, shapes.UserList),
    Operation(
        "PUT", "/users/{name}", MANAGE, "Add a user, or change role or password", people.store,
        shapes.StoredUser, request=shapes.UserRequest,
    ),
    Operation("DELETE", "/users/{name}", MANAGE, "Remove a user", people.remove, shapes.Removed),
    Operation(
        "DELETE", "/users/{name}/sessions", MANAGE, "Sign a user out everywhere", people.end_sessions,
        shapes.Removed,
    ),
    Operation(
        "GET", "/tokens", MANAGE, "List the tokens, without their secrets", people.tokens, shapes.TokenList,
    ),
    Operation(
        "POST", "/tokens", MANAGE, "Make a token", people.create_token, shapes.NewToken,
        request=shapes.TokenRequest, status=201,
    ),
    Operation("DELETE", "/tokens/{name}", MANAGE, "Remove a token", people.delete_token, shapes.Removed),
)  # fmt: skip
