"""The addresses of the pages, and the role that each needs."""

from campaigns.console.api import campaigns as interface
from campaigns.console.context import Route
from campaigns.console.pages import (
    account,
    campaigns,
    new_list,
    new_message,
    new_rows,
    new_sending,
    recipients,
    results,
    signing,
    static,
)
from campaigns.console.request_limits import EXPORTS, TEST_SENDS, UPLOADS
from campaigns.console.roles import Role

LOOK, SEND, MANAGE = Role.LOOK, Role.SEND, Role.MANAGE

PAGES = (
    Route("GET", "/", LOOK, campaigns.home),
    Route("GET", "/campaigns", LOOK, campaigns.show_all),
    Route("GET", "/live/campaigns", LOOK, campaigns.stream_all),
    Route("GET", "/campaigns/{name}", LOOK, campaigns.show_one),
    Route("GET", "/live/campaigns/{name}", LOOK, campaigns.stream_one),
    Route("GET", "/campaigns/{name}/ask/{action}", SEND, campaigns.ask),
    Route("POST", "/campaigns/{name}/act/{action}", SEND, campaigns.act),
    Route("GET", "/campaigns/{name}/recipients", LOOK, recipients.show_recipients),
    Route("GET", "/campaigns/{name}/results", LOOK, results.show_results),
    Route("GET", "/live/campaigns/{name}/results", LOOK, results.stream_results),
    Route("GET", "/campaigns/{name}/report.html", LOOK, results.download),
    Route("GET", "/campaigns/{name}/reasons", LOOK, recipients.show_reasons),
    Route("GET", "/campaigns/{name}/message", LOOK, recipients.show_message),
    Route("GET", "/campaigns/{name}/export", LOOK, interface.export, EXPORTS),
    Route("POST", "/campaigns/{name}/test", SEND, recipients.send_test, TEST_SENDS),
    Route("GET", "/new", SEND, new_list.show_upload),
    Route("POST", "/new", SEND, new_list.upload, UPLOADS),
    Route("GET", "/new/{reference}", SEND, new_list.show_list),
    Route("POST", "/new/{reference}", SEND, new_list.save_list),
    Route("GET", "/new/{reference}/rows", SEND, new_rows.show_rows),
    Route("POST", "/new/{reference}/rows", SEND, new_rows.correct),
    Route("GET", "/new/{reference}/rows/download", SEND, new_rows.download),
    Route("GET", "/live/new/{reference}/rows", SEND, new_rows.stream_rows),
    Route("GET", "/new/{reference}/message", SEND, new_message.show_message),
    Route("POST", "/new/{reference}/message", SEND, new_message.save_message),
    Route("GET", "/new/{reference}/sending", SEND, new_sending.show_sending),
    Route("POST", "/new/{reference}/sending", SEND, new_sending.create),
    Route("GET", "/people", LOOK, recipients.find_person),
    Route("GET", "/people/{phone}", LOOK, recipients.show_person),
    Route("GET", "/numbers", LOOK, account.show_numbers),
    Route("POST", "/numbers/{number}/resume", SEND, account.resume),
    Route("POST", "/numbers/{number}/limit", MANAGE, account.limit),
    Route("GET", "/templates", LOOK, account.show_templates),
    Route("GET", "/templates/{name}", LOOK, account.show_template),
    Route("GET", "/suppression", LOOK, account.show_suppression),
    Route("POST", "/suppression", SEND, account.suppress),
    Route("POST", "/suppression/remove", MANAGE, account.unsuppress),
    Route("GET", "/audit", LOOK, account.show_audit),
    Route("GET", "/sign-in", None, signing.show_sign_in),
    Route("POST", "/sign-in", None, signing.enter),
    Route("POST", "/sign-out", LOOK, signing.leave),
    Route("POST", "/language", None, signing.choose),
    Route("GET", "/static/{version}/{file}", None, static.serve_static),
)
