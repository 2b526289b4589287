"""The step "sending" with plain values: what a form becomes, what is shown again, and where an error belongs."""

from dataclasses import asdict
from typing import Any

import orjson
import pytest
from multidict import MultiDict
from pydantic import ValidationError

from drumbeat.campaigns.console.new.create_request import request_of
from drumbeat.campaigns.console.new.sending_choices import (
    DAYS,
    SendingFields,
    Wrong,
    sending_part,
    wrong_of,
)
from drumbeat.campaigns.console.web.language import texts_of
from drumbeat.campaigns.console.web.problems import Problem
from drumbeat.campaigns.options.schedule import read_window
from drumbeat.engine.errors import ConfigurationError, DrumbeatError, UsageError

FORM: dict[str, str] = {
    "name": " spring ",
    "clock": "Europe/Berlin",
    "start_at": "2026-12-01T09:00",
    "expires_at": "2026-07-01T20:00",
    "window_from": "09:00",
    "window_until": "20:00",
    "quiet_from": "21:00",
    "quiet_until": "08:00",
    "cap_messages": "2",
    "cap_days": "7",
    "canary": "500",
    "max_failed": "5%",
    "priority": "normal",
    "on_unknown": "hold",
}


def form(**more: str) -> MultiDict[str]:
    return MultiDict(
        [*(FORM | more).items(), ("number", "1001"), ("number", "1002"), ("day", "mon"), ("day", "sat")]
    )


def test_a_form_becomes_options_and_is_shown_again() -> None:
    part = sending_part(form())
    assert (part["name"], part["number"], part["canary"], part["max_failed"], part["priority"], part["on_unknown"]) == (
        "spring", ["1001", "1002"], "500", "5%", None, None,
    )  # fmt: skip
    assert (part["start_at"], part["expires_at"]) == (
        "2026-12-01T09:00:00+01:00",
        "2026-07-01T20:00:00+02:00",
    )
    assert (part["window"], part["quiet_hours"], part["cap"], part["days"]) == (
        "09:00-20:00",
        "21:00-08:00",
        "2/7d",
        "mon,sat",
    )
    shown = SendingFields(part)
    assert (shown.local("start_at"), shown.local("expires_at")) == ("2026-12-01T09:00", "2026-07-01T20:00")
    assert (shown.begin("window"), shown.end("quiet_hours"), shown.cap, shown.days) == (
        "09:00",
        "08:00",
        ("2", "7"),
        ["mon", "sat"],
    )
    assert part["time_zone"] == "Europe/Berlin" and not shown.by_recipient


def test_an_empty_form_chooses_nothing() -> None:
    part = {name: value for name, value in sending_part(MultiDict()).items() if value is not None}
    assert part == {"number": [], "clock": "UTC", "time_zone": "UTC"}
    assert SendingFields(part).days == DAYS and not SendingFields(part).uses_more


def test_the_clock_of_the_recipient_is_a_time_zone() -> None:
    part = sending_part(form(hours_of="recipient"))
    assert part["time_zone"] == "recipient" and SendingFields(part).by_recipient
    assert part["start_at"] == "2026-12-01T09:00:00+01:00"


@pytest.mark.parametrize("text", ["tomorrow", "2026-13-01T09:00", "2026-12-01T09:00+05:00"])
def test_a_time_that_no_browser_sends_is_kept_as_it_was_typed(text: str) -> None:
    part = sending_part(form(start_at=text))
    assert part["start_at"] == text
    assert SendingFields(part).local("start_at") in (text, "2026-12-01T05:00")


def test_half_a_window_is_shown_again_and_refused_at_its_field() -> None:
    part = sending_part(form(window_until=""))
    assert (SendingFields(part).begin("window"), SendingFields(part).end("window")) == ("09:00", "")
    with pytest.raises(UsageError) as refused:
        read_window(part["window"])
    wrong = wrong_of(refused.value)
    assert (wrong.field, wrong.step) == ("window", "sending")
    said = wrong.words(texts_of("en")).unescape()
    assert said == "“Send only between” '09:00-' has no end. Give both, such as 09:00-20:00."
    stored = orjson.loads(orjson.dumps(asdict(wrong.problem)))  # the step keeps it for the next request
    assert Wrong(Problem(**stored), wrong.field).words(texts_of("en")) == wrong.words(texts_of("en"))


@pytest.mark.parametrize(
    ("error", "field", "step"),
    [
        (UsageError("{share} 500 is not a percentage", values={}), "share", "sending"),
        (ConfigurationError("there is such a campaign", key="name"), "name", "sending"),
        (ConfigurationError("unknown phone number ID 9; known are 1001", key="number"), "number", "sending"),
        (UsageError("{param} leaves out body {{{{2}}}}", values={}), "param", "message"),
        (UsageError("{header_link} 'x' is not an HTTPS URL", values={}), "header_link", "message"),
        (UsageError("{region} XX is not a country", values={}), "region", "list"),
        (UsageError("there is nobody to send to"), "", "sending"),
    ],
)
def test_an_error_belongs_to_a_field_of_a_step(error: DrumbeatError, field: str, step: str) -> None:
    wrong = wrong_of(error)
    assert (wrong.field, wrong.step) == (field, step)


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"number": ["1"], "language": "en"}, "“Name of the campaign”: nothing is given"),
        (
            {"name": "x", "number": ["1"], "language": "en", "max_recipients": "many"},
            "“Recipients, at most”: this is not a whole number",
        ),
    ],
)
def test_a_value_of_the_wrong_kind_is_said_by_its_label(choices: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        request_of(choices)
    wrong = wrong_of(refused.value)
    assert wrong.words(texts_of("en")).startswith(words)
