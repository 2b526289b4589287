"""The choices of the step "sending": the fields of its form, and the members of a request that they become.

Nothing is checked here: a text that cannot be read is kept as it is, and the create says what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape
from pydantic import ValidationError

from drumbeat.campaigns.console.web.language import PageTexts
from drumbeat.campaigns.console.web.local_times import UTC, local_of, moment_of, time_zones
from drumbeat.campaigns.console.web.problems import Problem, fault_of, problem_of
from drumbeat.campaigns.console.web.sentences import remedy_said, said
from drumbeat.campaigns.options.schedule import RECIPIENT
from drumbeat.engine.errors import DrumbeatError, UsageError

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
# Fields that are options of a create by the same name; an empty one is not given.
TEXTS = (
    "name",
    "external_id",
    "max_recipients",
    "canary",
    "canary_max_failed",
    "canary_minutes",
    "priority",
    "share",
    "pause_at_failed",
    "max_failed",
    "on_unknown",
)
USUAL = {"priority": "normal", "on_unknown": "hold"}
MARKS = ("canary_approve", "strict")
OF_THE_MESSAGE = frozenset(
    {
        "template",
        "language",
        "language_column",
        "language_map",
        "strict_language",
        "param",
        "variant",
        "experiment",
    }
)
OF_PHONES = ("country_column", "repair_old", "first_number", "leave_out", "only_mobile")
OF_THE_LIST = frozenset(
    {"phone_column", "region", "map", "default", "exclude", "sheet", "hidden_rows", "header_row", *OF_PHONES}
)
_CAP = re.compile(r"(\d*)/(\d*)d")


def sending_part(fields: Any) -> dict[str, Any]:
    """Return the choices that a form of this step makes. None marks a choice that is taken back."""

    def text(name: str) -> str | None:
        return str(fields.get(name, "")).strip() or None

    clock = text("clock") or UTC
    days = [str(day) for day in fields.getall("day", [])]
    return {
        **{name: None if (given := text(name)) == USUAL.get(name) else given for name in TEXTS},
        **{name: True if name in fields else None for name in MARKS},
        "number": [str(number) for number in fields.getall("number", [])],
        "clock": clock,
        "start_at": moment_of(text("start_at") or "", clock) or None,
        "expires_at": moment_of(text("expires_at") or "", clock) or None,
        "window": _span(text("window_from"), text("window_until")),
        "quiet_hours": _span(text("quiet_from"), text("quiet_until")),
        "days": ",".join(days) if 0 < len(days) < len(DAYS) else None,
        "time_zone": RECIPIENT if fields.get("hours_of") == RECIPIENT else clock,
        "cap": _cap(text("cap_messages"), text("cap_days")),
    }


def _span(begin: str | None, end: str | None) -> str | None:
    return f"{begin or ''}-{end or ''}" if begin or end else None


def _cap(messages: str | None, days: str | None) -> str | None:
    return f"{messages or ''}/{days or ''}d" if messages or days else None


@dataclass(frozen=True, slots=True)
class SendingFields:
    """The choices as the fields of the form show them."""

    choices: Mapping[str, Any]

    def text(self, name: str) -> str:
        value = self.choices.get(name)
        return "" if value is None else str(value)

    @property
    def clock(self) -> str:
        zone = self.text("time_zone")
        return self.text("clock") or ("" if zone == RECIPIENT else zone)

    @property
    def known_clock(self) -> str:
        """Return the chosen zone if it exists."""
        return self.clock if self.clock in time_zones() else ""

    def local(self, name: str) -> str:
        """Return a time on the chosen clock, as a field of the browser takes it."""
        return local_of(self.text(name), self.clock)

    def begin(self, name: str) -> str:
        return self.text(name).partition("-")[0]

    def end(self, name: str) -> str:
        return self.text(name).partition("-")[2]

    @property
    def days(self) -> Sequence[str]:
        return self.text("days").split(",") if self.text("days") else DAYS

    @property
    def by_recipient(self) -> bool:
        return self.text("time_zone") == RECIPIENT

    @property
    def cap(self) -> tuple[str, str]:
        found = _CAP.fullmatch(self.text("cap"))
        return (found[1], found[2]) if found else ("", "")

    @property
    def uses_more(self) -> bool:
        """Return whether something under "more" is chosen."""
        return any(self.text(name) for name in (*TEXTS[1:], *MARKS, "cap"))


@dataclass(frozen=True, slots=True)
class Wrong:
    """The mistake in the form. `field`: the key of the option, or empty if it is about no option."""

    problem: Problem
    field: str = ""

    @property
    def stands_at_field(self) -> bool:
        """Return whether the page shows the problem at the field itself."""
        return self.step == "sending" and self.field not in ("", *MARKS)

    @property
    def step(self) -> str:
        """Return the step that has the field: sending, message or list."""
        if self.field in OF_THE_MESSAGE or self.field.startswith("header"):
            return "message"
        return "list" if self.field in OF_THE_LIST else "sending"

    def words(self, texts: PageTexts) -> Markup:
        """Return the problem, which names options by the labels of their fields."""
        if self.problem.code == "name_taken":
            return escape(texts("problem_code.name_taken"))
        what, remedy = self.problem.told(texts.option)
        return escape(" ").join(
            filter(None, (said(texts, what, whole=True), remedy_said(texts, remedy, whole=True)))
        )


def wrong_of(error: Exception) -> Wrong:
    """Return the error of a create, and the field that it is about."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        error = UsageError(f"{{{first['loc'][0]}}}: {{fault}}", values={"fault": fault_of(first)})
    return Wrong(problem_of(error), error.key if isinstance(error, DrumbeatError) else "")
