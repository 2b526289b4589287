"""The events that Drumbeat logs, with their meanings for an operator, by the sections of the operator's page.

The texts are Markdown.
"""

from typing import NamedTuple


class LogEvent(NamedTuple):
    """An entry of the page. `names` are events with one meaning. `over` is the event that says that the
    problem ended.
    """

    names: tuple[str, ...]
    meaning: str
    over: str = ""


def _event(names: str, meaning: str, over: str = "") -> LogEvent:
    return LogEvent(tuple(names.split()), meaning, over)


LASTING = "Problems that last"

LOG_EVENTS: dict[str, tuple[LogEvent, ...]] = {
    "Campaigns": (
        _event(
            "campaign_started",
            "This process sends the campaign.",
        ),
        _event(
            "campaign_blocked",
            "The campaign is running, but nothing may be sent now; `reason` says why.",
        ),
        _event(
            "campaign_unblocked",
            "The campaign no longer waits, and is sent again.",
        ),
        _event(
            "campaign_paused campaign_cancelled",
            "A person or Drumbeat stopped the campaign; `reason` says why, and `campaign report` by whom.",
        ),
        _event(
            "campaign_failed",
            "Drumbeat cannot read what is stored of the campaign, and pauses it; the traceback says why. "
            "Other campaigns go on.",
        ),
        _event(
            "canary_passed",
            "The canary is healthy, so everybody else is sent to now; `result` has the counts.",
        ),
        _event(
            "campaign_expired",
            "The `--expires-at` of the campaign has passed; the remaining recipients are skipped.",
        ),
        _event(
            "campaign_finished",
            "Nobody is left to send to; `unknown` counts the recipients in doubt.",
        ),
        _event(
            "run_postponed",
            "`campaign run --wait` waits; `reason` says for what.",
        ),
        _event(
            "header_files_uploaded",
            "Files of the header were uploaded again, because their ids at the service end soon.",
        ),
        _event(
            "header_files_not_uploaded",
            "Files of the header could not be uploaded again; `problem` says why. Drumbeat tries again. "
            "If an id ends before, the campaign waits.",
        ),
        _event(
            "in_doubt_resent",
            "Recipients in doubt are sent to again, by the policy of their campaign.",
        ),
    ),
    "Templates": (
        _event(
            "template_text_changed",
            "The service has another text for a campaign's template. The placeholders are the same, so "
            "the campaign goes on.",
        ),
        _event(
            "template_changed",
            "The service has other placeholders for a campaign's template, so the campaign is paused: its "
            "messages would fail.",
        ),
        _event(
            "templates_compared",
            "A run compared the campaign's templates with the service's; `note` says what it found.",
        ),
        _event(
            "templates_not_read",
            "The templates could not be read from the service; Drumbeat compares them later.",
        ),
    ),
    "Numbers": (
        _event(
            "number_taken",
            "This process sends with the number now.",
        ),
        _event(
            "number_suspended number_resumed",
            "The first: the number rests; `reason` and `until` say why and until when. The second: it "
            "sends again.",
        ),
        _event(
            "number_stopped",
            "The service refused the number, or the number failed here. It sends nothing until a person "
            "uses `drumbeat numbers resume PNID`.",
        ),
        _event(
            "number_failed",
            "Sending with the number failed, because of what is stored of it or of a fault; the traceback "
            "says how. This number stops, and the others go on.",
        ),
        _event(
            "number_not_released",
            "A number that failed could not release its ranges. Others can take them when its lease has "
            "ended.",
        ),
        _event(
            "claims_failed_together",
            "The claim that several numbers share failed. Each number now claims alone, so that only the "
            "one at fault stops.",
        ),
        _event(
            "quota_used_up quota_available",
            "The first: the messaging limit of the number is used up; `reason` says until when. The "
            "second: the number may write to more people again.",
        ),
        _event(
            "number_lost",
            "Another process owns the number now.",
        ),
        _event(
            "number_handed_over",
            "This worker leaves the number to another worker, for instance to one that was added. It ends "
            "its requests under way first.",
        ),
        _event(
            "limit_changed",
            "The number has a new limit.",
        ),
        _event(
            "ranges_released",
            "The number leaves recipients that it has not claimed yet to other numbers.",
        ),
        _event(
            "claim_refused",
            "The number may claim no more recipients of a range, because the range was closed or another "
            "process owns the number.",
        ),
        _event(
            "leases_released",
            "The process stopped cleanly; other processes can take its numbers at once.",
        ),
        _event(
            "secret_replaced",
            "The process uses a new secret from its file from now on.",
        ),
        _event(
            "numbers_not_read",
            "The numbers could not be read from the service; the stored limits stay.",
        ),
    ),
    "Notifications": (
        _event(
            "notification_sent",
            "A notification was delivered; `problem` names the addresses that the mail server refused.",
        ),
        _event(
            "notifications_given_up",
            "Notifications could not be delivered for a day, or the receiver refused them for good (410). "
            "They are not tried again.",
        ),
        _event(
            "notifier_failed",
            "A fault of Drumbeat, with its traceback: please report it. This process delivers no more "
            "notifications; sending goes on.",
        ),
        _event(
            "event_sender_failed",
            "A fault of Drumbeat, with its traceback: please report it. Events wait for programs; "
            "sending goes on.",
        ),
    ),
    LASTING: (
        _event(
            "service_unreachable",
            "The service does not answer, or says that it is down.",
            "service_back",
        ),
        _event(
            "database_lost",
            "The database does not answer.",
            "database_back",
        ),
        _event(
            "outcomes_not_stored",
            "Results cannot be stored; sending stops.",
            "outcomes_stored_again",
        ),
        _event(
            "descriptors_short",
            "Too few file descriptors; fewer connections are used.",
            "descriptors_again",
        ),
        _event(
            "disk_space_ran_short",
            "Too little free space for the embedded database; sending stops.",
            "disk_space_recovered",
        ),
        _event(
            "disk_not_read",
            "The free space cannot be read; sending continues.",
            "disk_read_again",
        ),
        _event(
            "metrics_not_served",
            "Another process has the port of the metrics; sending and serving continue.",
            "metrics_served",
        ),
        _event(
            "secret_not_read",
            "The file of a secret cannot be read, or holds none; the former secret is used.",
            "secret_read_again",
        ),
        _event(
            "events_not_stored",
            "The receiver answers 503.",
            "events_stored_again",
        ),
        _event(
            "events_set_aside",
            "A part of an event could not be read, `reason`; it is kept, and what stood beside it counts. "
            "`drumbeat webhooks reread` reads it again after an upgrade.",
            "events_set_aside_ended",
        ),
        _event(
            "callback_refused",
            "A request to the callback was refused, `reason`, and `answered` with this HTTP status. See "
            "[the receiver](receiver.md).",
            "callback_refusals_ended",
        ),
        _event(
            "foreign_events_ignored",
            "Events of another business account arrive, `waba_id`; they change nothing. If it is yours, "
            "set `DRUMBEAT_WABA_ID`.",
            "foreign_events_ended",
        ),
        _event(
            "events_of_unknown_number_kept",
            "Events of a number arrive that `drumbeat numbers list` does not show. They change nothing. "
            "For 8 days they are read again once `drumbeat numbers sync` finds the number.",
            "events_of_unknown_number_ended",
        ),
        _event(
            "notification_failed",
            "A receiver of notifications does not take them; they are tried again for a day.",
            "notifications_delivered_again",
        ),
        _event(
            "notifications_not_read",
            "The database does not answer; notifications wait.",
            "notifications_read_again",
        ),
        _event(
            "recipient_events_not_taken",
            "A program does not take the events that it subscribed to. They are tried again, and kept for 7 "
            "days.",
            "recipient_events_taken_again",
        ),
        _event(
            "recipient_events_not_read",
            "The database does not answer; events of recipients wait for programs.",
            "recipient_events_read_again",
        ),
        _event(
            "statuses_not_applied",
            "Statuses are stored, but not yet applied to recipients.",
            "statuses_applied_again",
        ),
    ),
    "Look at these": (
        _event(
            "database_rollback_detected",
            "The database was restored, copied or failed over, so every campaign was paused: what to do.",
        ),
        _event(
            "template_stopped",
            "The service stopped a template, so its campaigns were paused.",
        ),
        _event(
            "account_stopped",
            "The service disabled or restricted the account, so every campaign was paused.",
        ),
        _event(
            "drain_incomplete",
            "A process stopped before it had stored every result; the recipients of these are in doubt.",
        ),
        _event(
            "metrics_not_read",
            "A fault of Drumbeat in its metrics, with its traceback: please report it; sending continues.",
        ),
        _event(
            "fact_refused",
            "The database refuses to store one result; its recipient is in doubt.",
        ),
        _event(
            "statistics_refused",
            "The database refuses to store figures of the report; the results of recipients are stored.",
        ),
        _event(
            "attempt_failed_unexpectedly outcome_not_handled",
            "A fault of Drumbeat, with its traceback: please report it.",
        ),
        _event(
            "clock_skew_changed",
            "The clock of this host is `skew_s` seconds behind that of the database. Stored times are "
            "corrected; set the clock.",
        ),
        _event(
            "events_dropped",
            "Events matched no message for 8 days, or came with another program's data, and were dropped.",
        ),
        _event(
            "opt_outs_untied",
            "People opted out, but the events name neither a phone nor a message that is known. What they "
            "wrote is kept among the replies: suppress them by hand.",
        ),
        _event(
            "process_ended",
            "A process of `worker --processes` ended by itself; another starts after `restart_s` seconds.",
        ),
    ),
    "The console": (
        _event(
            "request_answered",
            "A request was answered; requests for static files are not logged. `route` is the pattern of "
            "its path, without phones; `caller` is the user, or `token` and its name. A stream is logged "
            "when it ends.",
        ),
        _event(
            "job_failed",
            "A job beside a request, such as a plan, ended with an unexpected error; its traceback follows.",
        ),
        _event(
            "provider_sign_in_refused",
            "A sign-in at the OpenID provider, from `address`, did not succeed: `reason` says why.",
        ),
        _event(
            "sign_in_refused",
            "Somebody gave a wrong name or password, from `address`.",
        ),
        _event(
            "prices_not_read",
            "The table of prices cannot be read, so results show no cost; `problem` says why.",
        ),
        _event(
            "results_not_read",
            "The results of a campaign could not be read. They are read again when somebody looks at them.",
        ),
        _event(
            "creation_failed",
            "The creation of a campaign from an upload ended with an unexpected error; its traceback "
            "follows.",
        ),
        _event(
            "request_failed",
            "A request ended with an unexpected error; `route` says which.",
        ),
    ),
}
