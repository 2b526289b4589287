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
        _event("campaign_started", "This process sends the campaign."),
        _event("campaign_blocked", "It is running, but nothing may be sent now; `reason` says why."),
        _event("campaign_unblocked", "The reason for waiting is gone."),
        _event(
            "campaign_paused campaign_cancelled",
            "Somebody or something stopped it: see `reason`; `campaign report` names the person.",
        ),
        _event(
            "campaign_failed", "What is stored of it cannot be read, and how: it is paused, the others go on."
        ),
        _event("canary_passed", "Its canary is healthy: everybody else is sent to; `result` has the counts."),
        _event("campaign_expired", "Its `--expires-at` has passed; the remaining recipients are skipped."),
        _event("campaign_finished", "Nobody is left to send to; `unknown` counts the recipients in doubt."),
        _event("run_postponed", "`campaign run --wait` waits; `reason` says for what."),
        _event(
            "header_files_uploaded",
            "Files of the header were uploaded again, because their ids at the service end soon.",
        ),
        _event(
            "header_files_not_uploaded",
            "That failed, `problem` says why; it is tried again, and the campaign waits if an id ends.",
        ),
        _event("in_doubt_resent", "A campaign's policy sends again to recipients in doubt."),
    ),
    "Templates": (
        _event(
            "template_text_changed",
            "A campaign's template has another text at the service, and the same placeholders; the campaign "
            "goes on.",
        ),
        _event(
            "template_changed", "It has other placeholders, so the campaign is paused before anybody fails."
        ),
        _event("templates_compared", "What a run found when it compared its template with the service's."),
        _event(
            "templates_not_read", "The service did not show its templates; they are compared again later."
        ),
    ),
    "Numbers": (
        _event("number_taken", "This process sends with the number now."),
        _event(
            "number_suspended number_resumed", "The number rests, why and until when; the number sends again."
        ),
        _event(
            "number_stopped",
            "The service refused the number, or it failed: it rests until a person uses "
            "`drumbeat numbers resume PNID`.",
        ),
        _event(
            "number_failed",
            "What is stored of the number, or a loop of it, failed, and how: it stops, the others go on.",
        ),
        _event(
            "number_not_released",
            "A number that failed could not release its ranges: they are free when its lease has ended.",
        ),
        _event(
            "claims_failed_together",
            "The statement for several numbers failed: each claims alone, and only the one at fault stops.",
        ),
        _event(
            "quota_used_up quota_available",
            "The messaging limit of the number is used up, and until when; it may write to more people.",
        ),
        _event("number_lost", "Another process owns the number now."),
        _event(
            "number_handed_over",
            "A worker was added, or its share is smaller: another worker gets the number after a drain.",
        ),
        _event("limit_changed", "The number has a new limit."),
        _event("ranges_released", "The number leaves recipients that it has not claimed to other numbers."),
        _event(
            "claim_refused",
            "The number may claim no more of a range: it was closed, or another process owns the number.",
        ),
        _event("leases_released", "A clean stop: the numbers are free for other processes."),
        _event("secret_replaced", "The process uses a new secret from its file from now on."),
        _event("numbers_not_read", "The numbers could not be read from the service; the stored limits stay."),
    ),
    "Notifications": (
        _event(
            "notification_sent",
            "A notification was delivered; `problem` names recipients that the mail server refused.",
        ),
        _event(
            "notifications_given_up",
            "Notifications could not be delivered for a day, or a receiver wants no more of them.",
        ),
        _event(
            "notifier_failed",
            "A fault of Drumbeat, with its traceback: please report it. This process tells nobody any "
            "more; sending goes on.",
        ),
    ),
    LASTING: (
        _event(
            "service_unreachable", "The service does not answer, or says that it is down.", "service_back"
        ),
        _event("database_lost", "The database does not answer.", "database_back"),
        _event("outcomes_not_stored", "Results cannot be stored; sending stops.", "outcomes_stored_again"),
        _event(
            "descriptors_short", "Too few file descriptors; fewer connections are used.", "descriptors_again"
        ),
        _event(
            "disk_space_ran_short",
            "Too little free space for the embedded database; sending stops.",
            "disk_space_recovered",
        ),
        _event("disk_not_read", "The free space cannot be read; sending continues.", "disk_read_again"),
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
        _event("events_not_stored", "The receiver answers 503.", "events_stored_again"),
        _event(
            "foreign_events_ignored",
            "Events of another business account arrive, `waba_id`; they change nothing. If it is yours, set "
            "`DRUMBEAT_WABA_ID`.",
            "foreign_events_ended",
        ),
        _event(
            "events_of_unknown_number_kept",
            "Events of a number arrive that `drumbeat numbers list` does not show. They change nothing. For 8"
            " days they are read again once `drumbeat numbers sync` finds the number.",
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
            "statuses_not_applied",
            "Statuses are stored, but not yet applied to recipients.",
            "statuses_applied_again",
        ),
    ),
    "Look at these": (
        _event(
            "database_rollback_detected",
            "Another database answers than before; every campaign was paused: what to do.",
        ),
        _event("template_stopped", "The service no longer sends a template; its campaigns were paused."),
        _event("drain_incomplete", "A stop did not store every result; some recipients are in doubt."),
        _event(
            "metrics_not_read",
            "A fault of Drumbeat in its metrics, with its traceback: please report it; sending continues.",
        ),
        _event("fact_refused", "The database refuses one result; its recipient is in doubt."),
        _event("statistics_refused", "The database refuses numbers of the report; the results are stored."),
        _event(
            "attempt_failed_unexpectedly outcome_not_handled",
            "A fault of Drumbeat, with its traceback: please report it.",
        ),
        _event(
            "clock_skew_changed",
            "This host's clock is `skew_s` behind the database's; stored times are corrected. Set the clock.",
        ),
        _event("events_dropped", "Events matched no message for 8 days."),
        _event(
            "opt_outs_untied",
            "People opted out whom no phone and no known message names. What they wrote is kept among the "
            "replies: suppress them by hand.",
        ),
        _event(
            "process_ended",
            "A process of `worker --processes` ended by itself; another starts after `restart_s` seconds.",
        ),
    ),
    "The console": (
        _event(
            "request_answered",
            "Each request but those of static files. `route` is its pattern, so no phone is logged; `caller` "
            "is the user, or `token` and its name. A stream is logged when it ends.",
        ),
        _event("job_failed", "Work that goes on beside the pages ended by an error that nobody expected."),
        _event("sign_in_refused", "A wrong name or password, from `address`."),
        _event(
            "prices_not_read",
            "The table of prices cannot be read, so results have no cost; `problem` says why.",
        ),
        _event(
            "results_not_read", "A campaign's results were not read; who looks at them causes another try."
        ),
        _event(
            "creation_failed",
            "A campaign from an upload met an error that nobody expected; its traceback follows.",
        ),
        _event("request_failed", "A request ended with an error that nobody expected; `route` says which."),
    ),
}
