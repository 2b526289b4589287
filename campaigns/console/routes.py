"""The addresses of the pages, and the role that each needs."""

from drumbeat.campaigns.console.account import api as interface_account
from drumbeat.campaigns.console.account import pages as account
from drumbeat.campaigns.console.account import password, signing, template_deletion
from drumbeat.campaigns.console.account import template_pages as templates
from drumbeat.campaigns.console.account import user_pages as people
from drumbeat.campaigns.console.campaigns import changing_pages as changing
from drumbeat.campaigns.console.campaigns import export_pages as exports
from drumbeat.campaigns.console.campaigns import launch_pages as launch
from drumbeat.campaigns.console.campaigns import pages as campaigns
from drumbeat.campaigns.console.campaigns import reasons_pages as reasons
from drumbeat.campaigns.console.campaigns import results_pages as results
from drumbeat.campaigns.console.campaigns import steering_pages as steering
from drumbeat.campaigns.console.new import exclusion_pages as new_exclusions
from drumbeat.campaigns.console.new import list_pages as new_list
from drumbeat.campaigns.console.new import message_pages as new_message
from drumbeat.campaigns.console.new import rows_pages as new_rows
from drumbeat.campaigns.console.new import sending_pages as new_sending
from drumbeat.campaigns.console.people import erasing_pages as erasing
from drumbeat.campaigns.console.people import import_pages as suppression_import
from drumbeat.campaigns.console.people import pages as recipients
from drumbeat.campaigns.console.people import reply_pages as replies
from drumbeat.campaigns.console.web import static, work
from drumbeat.campaigns.console.web.context import Route
from drumbeat.campaigns.console.web.request_limits import EXPORTS, SERVICE_CALLS, TEST_SENDS, UPLOADS
from drumbeat.campaigns.console.web.roles import Role

LOOK, SEND, MANAGE = Role.LOOK, Role.SEND, Role.MANAGE

PAGES = (
    Route("GET", "/", LOOK, campaigns.home),
    Route("GET", "/campaigns", LOOK, campaigns.show_all),
    Route("GET", "/live/campaigns", LOOK, campaigns.stream_all),
    Route("GET", "/campaigns/{name}", LOOK, campaigns.show_one),
    Route("GET", "/live/campaigns/{name}", LOOK, campaigns.stream_one),
    Route("GET", "/campaigns/{name}/ask/{action}", SEND, campaigns.ask),
    Route("GET", "/campaigns/{name}/launch", SEND, launch.show_launch),
    Route("GET", "/live/campaigns/{name}/launch", SEND, launch.stream_launch),
    Route("POST", "/campaigns/{name}/launch", SEND, launch.launch),
    Route("POST", "/campaigns/{name}/act/{action}", SEND, campaigns.act),
    Route("GET", "/campaigns/{name}/recipients", LOOK, recipients.show_recipients),
    Route("GET", "/campaigns/{name}/results", LOOK, results.show_results),
    Route("GET", "/live/campaigns/{name}/results", LOOK, results.stream_results),
    Route("GET", "/campaigns/{name}/report.html", LOOK, results.download),
    Route("GET", "/campaigns/{name}/reasons", LOOK, reasons.show_reasons),
    Route("GET", "/live/campaigns/{name}/reasons", LOOK, reasons.stream_reasons),
    Route("GET", "/campaigns/{name}/replies", LOOK, replies.show_campaign_replies),
    Route("GET", "/campaigns/{name}/exports", LOOK, exports.show_export),
    Route("GET", "/campaigns/{name}/retry", SEND, steering.ask_retry),
    Route("POST", "/campaigns/{name}/retry", SEND, steering.plan_retry),
    Route("GET", "/campaigns/{name}/settle", SEND, steering.ask_settle),
    Route("POST", "/campaigns/{name}/settle", SEND, steering.settle),
    Route("GET", "/campaigns/{name}/approve", SEND, steering.ask_approve),
    Route("POST", "/campaigns/{name}/approve", SEND, steering.approve),
    Route("GET", "/campaigns/{name}/delete", SEND, steering.ask_delete),
    Route("POST", "/campaigns/{name}/delete", SEND, steering.delete),
    Route("GET", "/campaigns/{name}/edit", SEND, changing.show_edit),
    Route("POST", "/campaigns/{name}/edit", SEND, changing.edit),
    Route("GET", "/campaigns/{name}/clone", SEND, changing.show_clone),
    Route("POST", "/campaigns/{name}/clone", SEND, changing.clone),
    Route("GET", "/campaigns/{name}/suppress", SEND, steering.ask_suppress),
    Route("POST", "/campaigns/{name}/suppress", SEND, steering.suppress),
    Route("GET", "/work/{reference}", SEND, work.show_work),
    Route("GET", "/live/work/{reference}", SEND, work.stream_work),
    Route("GET", "/replies", LOOK, replies.show_replies),
    Route("GET", "/campaigns/{name}/message", LOOK, recipients.show_message),
    Route("GET", "/campaigns/{name}/export", LOOK, exports.export, EXPORTS),
    Route("POST", "/campaigns/{name}/test", SEND, recipients.send_test, TEST_SENDS),
    Route("GET", "/new", SEND, new_list.show_upload),
    Route("POST", "/new", SEND, new_list.upload, UPLOADS),
    Route("GET", "/new/{reference}", SEND, new_list.show_list),
    Route("POST", "/new/{reference}", SEND, new_list.save_list),
    Route("GET", "/new/{reference}/exclusions", SEND, new_exclusions.show_exclusions),
    Route("POST", "/new/{reference}/exclusions", SEND, new_exclusions.add, UPLOADS),
    Route("POST", "/new/{reference}/exclusions/remove", SEND, new_exclusions.remove),
    Route("POST", "/new/{reference}/template", SEND, new_message.choose_template),
    Route("POST", "/new/{reference}/header", SEND, new_message.save_header_file),
    Route("GET", "/new/{reference}/rows", SEND, new_rows.show_rows),
    Route("POST", "/new/{reference}/rows", SEND, new_rows.correct),
    Route("GET", "/new/{reference}/rows/download", SEND, new_rows.download),
    Route("GET", "/live/new/{reference}/rows", SEND, new_rows.stream_rows),
    Route("GET", "/new/{reference}/message", SEND, new_message.show_message),
    Route("POST", "/new/{reference}/message", SEND, new_message.save_message),
    Route("GET", "/new/{reference}/sending", SEND, new_sending.show_sending),
    Route("GET", "/live/new/{reference}/sending", SEND, new_sending.stream_sending),
    Route("POST", "/new/{reference}/sending", SEND, new_sending.create),
    Route("GET", "/people", LOOK, recipients.find_person),
    Route("GET", "/people/{phone}", LOOK, recipients.show_person),
    Route("GET", "/people/{phone}/erase", MANAGE, erasing.ask),
    Route("POST", "/people/{phone}/erase", MANAGE, erasing.erase),
    Route("GET", "/erased/{pseudonym}", MANAGE, erasing.show_receipt),
    Route("GET", "/numbers", LOOK, account.show_numbers),
    Route("GET", "/live/numbers", LOOK, account.stream_numbers),
    Route("POST", "/numbers/sync", SEND, account.sync, SERVICE_CALLS),
    Route("POST", "/numbers/{number}/resume", SEND, account.resume),
    Route("POST", "/numbers/{number}/limit", MANAGE, account.limit),
    Route("GET", "/templates", LOOK, templates.show_templates),
    Route("POST", "/templates/sync", SEND, templates.sync, SERVICE_CALLS),
    Route("GET", "/new-template", SEND, templates.show_new),
    Route("POST", "/new-template", SEND, templates.create, SERVICE_CALLS),
    Route("POST", "/new-template/preview", SEND, templates.preview),
    Route("GET", "/templates/{name}", LOOK, templates.show_template),
    Route("GET", "/live/templates/{name}", LOOK, templates.stream_template),
    Route("GET", "/templates/{name}/delete", SEND, template_deletion.ask),
    Route("POST", "/templates/{name}/delete", SEND, template_deletion.delete, SERVICE_CALLS),
    Route("GET", "/suppression", LOOK, account.show_suppression),
    Route("POST", "/suppression", SEND, account.suppress),
    Route("GET", "/suppression/export", LOOK, interface_account.export_suppressions, EXPORTS),
    Route("POST", "/suppression/import", SEND, suppression_import.upload, UPLOADS),
    Route("GET", "/suppression/import/{reference}", SEND, suppression_import.show),
    Route("POST", "/suppression/import/{reference}", SEND, suppression_import.begin),
    Route("GET", "/live/suppression/import/{reference}", SEND, suppression_import.stream),
    Route("GET", "/suppression/import/{reference}/rejects", SEND, suppression_import.rejects),
    Route("POST", "/suppression/remove", MANAGE, account.unsuppress),
    Route("GET", "/audit", LOOK, account.show_audit),
    Route("GET", "/users", MANAGE, people.show_users),
    Route("POST", "/users", MANAGE, people.add),
    Route("GET", "/users/{name}", MANAGE, people.show_user),
    Route("POST", "/users/{name}", MANAGE, people.change),
    Route("POST", "/users/{name}/sign-out", MANAGE, people.sign_out),
    Route("GET", "/users/{name}/remove", MANAGE, people.ask_remove),
    Route("POST", "/users/{name}/remove", MANAGE, people.remove),
    Route("GET", "/tokens", MANAGE, people.show_tokens),
    Route("POST", "/tokens", MANAGE, people.make_token),
    Route("GET", "/tokens/{name}/remove", MANAGE, people.ask_remove_token),
    Route("POST", "/tokens/{name}/remove", MANAGE, people.remove_token_named),
    Route("GET", "/sign-in", None, signing.show_sign_in),
    Route("POST", "/sign-in", None, signing.enter),
    Route("POST", "/sign-out", LOOK, signing.leave),
    Route("GET", "/password", LOOK, password.show),
    Route("POST", "/password", LOOK, password.change),
    Route("POST", "/language", None, signing.choose),
    Route("GET", "/static/{version}/{file}", None, static.serve_static),
)
