"""The route table: who may do what, at which addresses of pages and of the interface.

It makes the routes, and the document of `/api/v1` in its order. What is asked of one thing stands in one row.
"""

from __future__ import annotations

from functools import cache

from drumbeat.campaigns.console.account import actions as account_actions
from drumbeat.campaigns.console.account import api as account_api
from drumbeat.campaigns.console.account import pages as account_pages
from drumbeat.campaigns.console.account import (
    password,
    provider,
    signing,
    template_deletion,
    template_pages,
    user_pages,
)
from drumbeat.campaigns.console.account.shapes import NumberResumed
from drumbeat.campaigns.console.campaigns import actions as campaign_actions
from drumbeat.campaigns.console.campaigns import api as campaign_api
from drumbeat.campaigns.console.campaigns import (
    changing_pages,
    export_pages,
    exporting,
    home_pages,
    launch_pages,
    message_pages,
    reasons_pages,
    results_pages,
    steering_pages,
)
from drumbeat.campaigns.console.campaigns import pages as campaign_pages
from drumbeat.campaigns.console.campaigns.named import own_name
from drumbeat.campaigns.console.campaigns.shapes import Report, Status
from drumbeat.campaigns.console.campaigns.steering_shapes import Deleted, ExportQuery
from drumbeat.campaigns.console.new import actions as list_actions
from drumbeat.campaigns.console.new import api as list_api
from drumbeat.campaigns.console.new import exclusion_pages, list_pages, messages, rows_pages, sending_pages
from drumbeat.campaigns.console.new import message_pages as new_message_pages
from drumbeat.campaigns.console.new.create_request import CreateRequest
from drumbeat.campaigns.console.new.shapes import (
    AcceptedMessage,
    Created,
    CreateUpload,
    ListUpload,
    MessageRequest,
    UploadedList,
)
from drumbeat.campaigns.console.people import actions as people_actions
from drumbeat.campaigns.console.people import api as people_api
from drumbeat.campaigns.console.people import import_pages, suppression_pages
from drumbeat.campaigns.console.people import pages as people_pages
from drumbeat.campaigns.console.people.shapes import SuppressionImported, SuppressionUpload
from drumbeat.campaigns.console.web import openapi, work
from drumbeat.campaigns.console.web.context import Route
from drumbeat.campaigns.console.web.oidc_rules import CALLBACK
from drumbeat.campaigns.console.web.operations import CSV, EVENTS, Operation, of_action
from drumbeat.campaigns.console.web.request_limits import (
    EXPORTS,
    LIST_CHECKS,
    SERVICE_CALLS,
    TEST_SENDS,
    UPLOADS,
    WHOLE_READINGS,
)
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.routing import Row
from drumbeat.campaigns.console.web.static import serve_static

FIGURES, LOOK, SEND, MANAGE = Role
CAMPAIGN, LIST, NEW = "/campaigns/{name}", "/lists/{reference}", "/new/{reference}"
IMPORT = "/suppression/import/{reference}"
MULTIPART = "multipart/form-data"

# In the order of the document.
ROWS = (
    Row(FIGURES, {
        "GET /": home_pages.show,
        "GET /live/home": home_pages.stream,
        "GET /campaigns": campaign_pages.show_all,
        "GET /live/campaigns": campaign_pages.stream_all,
    }, of_action("GET", "/campaigns", "List campaigns, the newest first", campaign_api.listed)),
    Row(SEND, {}, Operation(
        "POST", "/campaigns", "Create a campaign from an uploaded audience", list_api.create, Created,
        request=CreateUpload, request_type=MULTIPART, takes_key=True, takes_long=True,
    ), UPLOADS),
    Row(SEND, {}, Operation(
        "POST", "/messages", "Send one message to one person", messages.send, AcceptedMessage,
        request=MessageRequest, status=201, takes_key=True, needs_key=True,
    )),
    Row(SEND, {"POST /new": list_pages.upload}, Operation(
        "POST", "/lists", "Upload a list, to check and correct it first", list_api.add, UploadedList,
        request=ListUpload, request_type=MULTIPART, status=201,
    ), UPLOADS),
    Row(SEND, {}, of_action(
        "POST", f"{LIST}/check", "Check the rows of a list; waits some seconds", list_actions.check,
    ), LIST_CHECKS),
    Row(SEND, {
        f"GET {NEW}/rows": rows_pages.show_rows,
        f"POST {NEW}/rows": rows_pages.correct,
        f"GET {NEW}/rows/download": rows_pages.download,
        f"GET /live{NEW}/rows": rows_pages.stream_rows,
    }, of_action(
        "POST", f"{LIST}/corrections", "Correct rows of a list; the file stays as it is",
        list_actions.correct,
    )),
    Row(SEND, {
        f"GET {NEW}/sending": sending_pages.show_sending,
        f"POST {NEW}/sending": sending_pages.create,
        f"GET /live{NEW}/sending": sending_pages.stream_sending,
    }, Operation(
        "POST", f"{LIST}/campaign", "Create a campaign from a list", list_api.create_from_list, Created,
        request=CreateRequest, takes_key=True, takes_long=True,
    )),
    Row(SEND, {}, of_action("DELETE", LIST, "Remove an uploaded list", list_actions.remove)),
    Row(SEND, {
        "GET /new": list_pages.show_upload,
        f"GET {NEW}": list_pages.show_list,
        f"POST {NEW}": list_pages.save_list,
        f"GET {NEW}/exclusions": exclusion_pages.show_exclusions,
        f"POST {NEW}/exclusions/remove": exclusion_pages.remove,
        f"POST {NEW}/template": new_message_pages.choose_template,
        f"POST {NEW}/header": new_message_pages.save_header_file,
        f"GET {NEW}/message": new_message_pages.show_message,
        f"POST {NEW}/message": new_message_pages.save_message,
    }),
    Row(SEND, {f"POST {NEW}/exclusions": exclusion_pages.add}, allowance=UPLOADS),
    Row(FIGURES, {
        f"GET {CAMPAIGN}": campaign_pages.show_one,
        f"GET /live{CAMPAIGN}": campaign_pages.stream_one,
    }, of_action("GET", CAMPAIGN, "Show the status of a campaign", campaign_api.status, reply=Status)),
    Row(FIGURES, {}, Operation(
        "GET", f"{CAMPAIGN}/progress", "Stream its status as events named progress",
        campaign_api.stream_progress, media_type=EVENTS,
    )),
    Row(FIGURES, {}, of_action(
        "GET", f"{CAMPAIGN}/report", "Show reasons, numbers and actions", campaign_api.report, reply=Report,
    ), WHOLE_READINGS),
    Row(FIGURES, {
        f"GET {CAMPAIGN}/reasons": reasons_pages.show_reasons,
        f"GET /live{CAMPAIGN}/reasons": reasons_pages.stream_reasons,
    }),
    Row(FIGURES, {
        f"GET {CAMPAIGN}/results": results_pages.show_results,
        f"GET /live{CAMPAIGN}/results": results_pages.stream_results,
        f"GET {CAMPAIGN}/report.html": results_pages.download,
    }, of_action(
        "GET", f"{CAMPAIGN}/results", "Show times, variants, rates, and recipients by each property",
        campaign_api.results,
    )),
    Row(LOOK, {f"GET {CAMPAIGN}/recipients": people_pages.show_recipients}, of_action(
        "GET", f"{CAMPAIGN}/recipients", "List recipients by state or code", people_api.recipients,
    )),
    Row(LOOK, {f"GET {CAMPAIGN}/export": export_pages.export}, Operation(
        "GET", f"{CAMPAIGN}/export", "Export recipients by a filter, as CSV or as `format` says",
        exporting.export, query=ExportQuery, media_type=CSV,
        other_media_types=tuple(exporting.MEDIA_TYPES.values()),
    ), EXPORTS),
    Row(LOOK, {f"GET {CAMPAIGN}/exports": export_pages.show_export}),
    Row(LOOK, {f"GET {CAMPAIGN}/message": message_pages.show_message}, of_action(
        "GET", f"{CAMPAIGN}/preview", "Show the message of one recipient", campaign_api.preview,
    )),
    Row(LOOK, {}, of_action(
        "GET", f"{CAMPAIGN}/plan", "Show recipients, times and cost before the start", campaign_api.plan,
    ), WHOLE_READINGS),
    Row(SEND, {
        f"GET {CAMPAIGN}/ask/{{action}}": campaign_pages.ask,  # start, pause, resume and cancel
        f"POST {CAMPAIGN}/act/{{action}}": campaign_pages.act,
        f"GET {CAMPAIGN}/launch": launch_pages.show_launch,
        f"GET /live{CAMPAIGN}/launch": launch_pages.stream_launch,
        f"POST {CAMPAIGN}/launch": launch_pages.launch,
    }, of_action(
        "POST", f"{CAMPAIGN}/start", "Start a campaign: the workers send it", campaign_actions.start,
    )),
    Row(SEND, {}, of_action(
        "POST", f"{CAMPAIGN}/accept-category", "Agree to the categories that its templates have now",
        campaign_actions.accept_category,
    )),
    Row(SEND, {}, of_action("POST", f"{CAMPAIGN}/pause", "Pause a campaign", campaign_actions.pause)),
    Row(SEND, {}, of_action(
        "POST", f"{CAMPAIGN}/resume", "Resume a paused campaign", campaign_actions.resume, in_query=True,
    )),
    Row(SEND, {
        f"GET {CAMPAIGN}/approve": steering_pages.ask_approve,
        f"POST {CAMPAIGN}/approve": steering_pages.approve,
    }, of_action(
        "POST", f"{CAMPAIGN}/approve", "Approve the canary of a campaign", campaign_actions.approve,
    )),
    Row(SEND, {}, of_action(
        "POST", f"{CAMPAIGN}/cancel", "Cancel a campaign for good", campaign_actions.cancel,
    )),
    Row(SEND, {f"POST {CAMPAIGN}/test": message_pages.send_test}, of_action(
        "POST", f"{CAMPAIGN}/test-sends", "Send its message to own phones as a test",
        campaign_actions.test_send, status=201, takes_key=True, needs_key=True, own_name=own_name,
    ), TEST_SENDS),
    Row(SEND, {
        f"GET {CAMPAIGN}/retry": steering_pages.ask_retry,
        f"POST {CAMPAIGN}/retry": steering_pages.plan_retry,
    }, of_action(
        "POST", f"{CAMPAIGN}/retries", "Plan a campaign for the recipients whom it did not reach",
        campaign_actions.retry, takes_key=True, takes_long=True, own_name=own_name,
    )),
    Row(SEND, {
        f"GET {CAMPAIGN}/clone": changing_pages.show_clone,
        f"POST {CAMPAIGN}/clone": changing_pages.clone,
    }, of_action(
        "POST", f"{CAMPAIGN}/clones", "Create a draft with the options of a campaign", campaign_actions.clone,
        takes_key=True, takes_long=True, own_name=own_name,
    )),
    Row(SEND, {
        f"GET {CAMPAIGN}/edit": changing_pages.show_edit,
        f"POST {CAMPAIGN}/edit": changing_pages.edit,
    }, of_action(
        "PATCH", CAMPAIGN, "Change the options of a campaign", campaign_actions.edit,
        takes_long=True, own_name=own_name, is_costly=campaign_actions.is_planned_anew,
    )),
    Row(SEND, {
        f"GET {CAMPAIGN}/delete": steering_pages.ask_delete,
        f"POST {CAMPAIGN}/delete": steering_pages.delete,
    }, of_action(
        "DELETE", CAMPAIGN, "Delete a campaign that was never started", campaign_actions.delete,
        reply=Deleted,
    )),
    Row(FIGURES, {}, of_action(
        "GET", f"{CAMPAIGN}/doubts", "Show the recipients in doubt, and the reasons", campaign_actions.doubts,
    )),
    Row(SEND, {
        f"GET {CAMPAIGN}/settle": steering_pages.ask_settle,
        f"POST {CAMPAIGN}/settle": steering_pages.settle,
    }, of_action(
        "POST", f"{CAMPAIGN}/doubts", "Send again to the recipients in doubt, or take them as sent",
        campaign_actions.settle,
    )),
    Row(SEND, {
        f"GET {CAMPAIGN}/suppress": suppression_pages.ask_matching,
        f"POST {CAMPAIGN}/suppress": suppression_pages.suppress_matching,
    }, of_action(
        "POST", f"{CAMPAIGN}/suppressions", "Suppress recipients of a campaign by a filter",
        people_actions.suppress_matching, takes_long=True, own_name=own_name,
    )),
    Row(SEND, {
        "GET /work/{reference}": work.show_work,
        "GET /live/work/{reference}": work.stream_work,
    }, of_action(
        "GET", "/jobs/{reference}", "Show the progress of a job that was answered with 202", work.show_job,
    )),
    Row(LOOK, {f"GET {CAMPAIGN}/replies": people_pages.show_campaign_replies}, of_action(
        "GET", f"{CAMPAIGN}/replies", "List the replies of its recipients, the newest first",
        people_api.campaign_replies,
    )),
    Row(LOOK, {"GET /replies": people_pages.show_replies}, of_action(
        "GET", "/replies", "List the replies of all people, the newest first", people_api.replies,
    )),
    Row(LOOK, {
        "GET /people": people_pages.find_person,
        "GET /people/{phone}": people_pages.show_person,
    }, of_action("GET", "/people/{phone}", "Show all that happened to a phone", people_api.person)),
    Row(MANAGE, {
        "GET /people/{phone}/erase": people_pages.ask_erase,
        "POST /people/{phone}/erase": people_pages.erase,
        "GET /erased/{pseudonym}": people_pages.show_receipt,
    }, of_action("DELETE", "/people/{phone}", "Erase a person, for good", people_actions.erase)),
    Row(FIGURES, {
        "GET /numbers": account_pages.show_numbers,
        "GET /live/numbers": account_pages.stream_numbers,
    }, of_action("GET", "/numbers", "List the business numbers", account_api.numbers)),
    Row(SEND, {"POST /numbers/{number}/resume": account_pages.resume}, of_action(
        "POST", "/numbers/{number}/resume", "Let a stopped number send again", account_actions.resume_number,
        reply=NumberResumed,
    )),
    Row(MANAGE, {"POST /numbers/{number}/limit": account_pages.limit}, of_action(
        "PUT", "/numbers/{number}/limit", "Set the limit of a number", account_actions.set_limit,
    )),
    Row(SEND, {"POST /numbers/sync": account_pages.sync}, of_action(
        "POST", "/numbers/sync", "Read the numbers from the service", account_actions.sync_numbers,
    ), SERVICE_CALLS),
    Row(FIGURES, {"GET /templates": template_pages.show_templates}, of_action(
        "GET", "/templates", "List the templates", account_api.templates,
    )),
    Row(SEND, {
        "GET /new-template": template_pages.show_new,
        "POST /new-template/preview": template_pages.preview,
        "GET /templates/{name}/delete": template_deletion.ask,
    }),
    Row(SEND, {"POST /new-template": template_pages.create}, of_action(
        "POST", "/templates", "Submit a template for review", account_actions.submit_template,
        status=201, takes_key=True,
    ), SERVICE_CALLS),
    Row(SEND, {"POST /templates/sync": template_pages.sync}, of_action(
        "POST", "/templates/sync", "Read the templates from the service", account_actions.sync_templates,
    ), SERVICE_CALLS),
    Row(FIGURES, {
        "GET /templates/{name}": template_pages.show_template,
        "GET /live/templates/{name}": template_pages.stream_template,
    }, of_action("GET", "/templates/{name}", "Show a template in each language", account_api.template)),
    Row(SEND, {"POST /templates/{name}/delete": template_deletion.delete}, of_action(
        "DELETE", "/templates/{name}", "Delete a template at the service", account_actions.delete_template,
    ), SERVICE_CALLS),
    Row(LOOK, {"GET /suppression": suppression_pages.show_suppression}, of_action(
        "GET", "/suppressions", "List the suppressed phones, by phone", people_api.suppressions,
    )),
    Row(SEND, {"POST /suppression": suppression_pages.suppress}, of_action(
        "POST", "/suppressions", "Suppress phones", people_actions.suppress,
    )),
    Row(SEND, {
        f"GET {IMPORT}": import_pages.show,
        f"POST {IMPORT}": import_pages.begin,
        f"GET /live{IMPORT}": import_pages.stream,
        f"GET {IMPORT}/rejects": import_pages.rejects,
    }),
    Row(SEND, {"POST /suppression/import": import_pages.upload}, Operation(
        "POST", "/suppressions/import", "Suppress the phones of a file", people_api.import_list,
        SuppressionImported, request=SuppressionUpload, request_type=MULTIPART, takes_long=True,
    ), UPLOADS),
    Row(LOOK, {"GET /suppression/export": people_api.export_suppressions}, Operation(
        "GET", "/suppressions/export", "Export the suppression list as CSV", people_api.export_suppressions,
        media_type=CSV,
    ), EXPORTS),
    Row(MANAGE, {"POST /suppression/remove": suppression_pages.unsuppress}, of_action(
        "DELETE", "/suppressions/{phone}", "Take a phone off the list", people_actions.unsuppress,
    )),
    Row(LOOK, {}, of_action(
        "GET", "/events", "List what happened to recipients after an event, in order", account_api.events,
    )),
    Row(MANAGE, {}, of_action(
        "GET", "/subscriptions", "List the subscriptions, without their secrets", account_api.subscriptions,
    )),
    Row(MANAGE, {}, of_action(
        "GET", "/subscriptions/{name}", "Show how far a subscription is delivered", account_api.subscription,
    )),
    Row(MANAGE, {}, of_action(
        "POST", "/subscriptions", "Subscribe a program to what happens to recipients",
        account_actions.add_subscription, status=201,
    )),
    Row(MANAGE, {}, of_action(
        "DELETE", "/subscriptions/{name}", "Remove a subscription", account_actions.remove_subscription,
    )),
    Row(LOOK, {"GET /audit": account_pages.show_audit}, of_action(
        "GET", "/audit", "List the actions of people and programs, the newest first", account_api.audit,
    )),
    Row(MANAGE, {
        "GET /users": user_pages.show_users,
        "GET /users/{name}": user_pages.show_user,
    }, of_action("GET", "/users", "List the users", account_api.users)),
    Row(MANAGE, {
        "POST /users": user_pages.add,
        "POST /users/{name}": user_pages.change,
    }, of_action(
        "PUT", "/users/{name}", "Add a user, or change role or password", account_actions.store_user,
    )),
    Row(MANAGE, {
        "GET /users/{name}/remove": user_pages.ask_remove,
        "POST /users/{name}/remove": user_pages.remove,
    }, of_action("DELETE", "/users/{name}", "Remove a user", account_actions.remove_user)),
    Row(MANAGE, {"POST /users/{name}/sign-out": user_pages.sign_out}, of_action(
        "DELETE", "/users/{name}/sessions", "Sign a user out everywhere", account_actions.end_sessions,
    )),
    Row(MANAGE, {"GET /tokens": user_pages.show_tokens}, of_action(
        "GET", "/tokens", "List the tokens, without their secrets", account_api.tokens,
    )),
    Row(MANAGE, {"POST /tokens": user_pages.make_token}, of_action(
        "POST", "/tokens", "Make a token", account_actions.add_token, status=201,
    )),
    Row(MANAGE, {
        "GET /tokens/{name}/remove": user_pages.ask_remove_token,
        "POST /tokens/{name}/remove": user_pages.remove_token_named,
    }, of_action("DELETE", "/tokens/{name}", "Remove a token", account_actions.remove_token)),
    Row(FIGURES, {
        "GET /password": password.show,
        "POST /password": password.change,
        "POST /sign-out": signing.leave,
    }),
    Row(None, {
        "GET /sign-in": signing.show_sign_in,
        "POST /sign-in": signing.enter,
        "GET /sign-in/provider": provider.lead,
        f"GET {CALLBACK}": provider.come_back,
        "POST /language": signing.choose,
        "GET /static/{version}/{file}": serve_static,
    }),
)  # fmt: skip


@cache
def document() -> openapi.Schema:
    """Return the OpenAPI document of the interface."""
    operations = ((row.role, row.operation) for row in ROWS if row.operation is not None)
    about = "Campaigns, recipients, numbers, templates and the suppression list."
    return openapi.document("Drumbeat", about, operations)


def routes() -> list[Route]:
    """Return every address of the console."""
    serves_document = Route("GET", openapi.PATH, None, openapi.serving(document))
    return [*(route for row in ROWS for route in row.routes), serves_document]
