"""The words of the pages in the reader's language, and times on one clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from markupsafe import Markup, escape

from drumbeat.campaigns.texts import FIRST_LANGUAGE, Texts, is_near, languages_in, words_of

__all__ = ["COOKIE", "LANGUAGES", "PageTexts", "Texts", "choose_language", "texts_of"]

CONSOLE_TEXTS, RESULT_TEXTS = "drumbeat.campaigns.console.texts", "drumbeat.campaigns.results.texts"
LANGUAGES = languages_in(CONSOLE_TEXTS)
COOKIE = "drumbeat_language"
_PLACES = ("sending.", "message.option_", "list.")  # where the label of an option stands among the texts


class Exactness(StrEnum):
    """The exactness of a written time. The script of the pages writes times in the same forms."""

    SECOND = "second"
    MINUTE = "minute"
    CLOCK = "clock"


@dataclass(frozen=True, slots=True)
class PageTexts(Texts):
    """The texts of a page. Times are elements of HTML in `zone`, which the page names once. The script of the
    pages shows them in the zone of the browser.
    """

    zone: str = "UTC"

    def option(self, key: str) -> str:
        """Return the label of an option's field on the pages, or the key if no page has a field for it."""
        labels = (self.words.get(f"{place}{key}") for place in _PLACES)
        label = next(filter(None, labels), None)
        return key if label is None else f"“{label}”"

    def __call__(self, key: str, **values: Any) -> str:
        form = self.form_of(key, values)
        if any(isinstance(value, Markup) for value in values.values()):
            return escape(form).format(**values)
        return form.format(**values)

    def time(self, moment: datetime | None, zone: str = "") -> str:
        """Return a time on the clock of `zone`, with the name of the zone. Without a zone, use the clock of
        the page.
        """
        if moment is None:
            return ""
        if zone:
            return f"{self.text_of(moment, Exactness.MINUTE, zone)} {zone}"
        return self._element(moment, Exactness.SECOND)

    def clock(self, moment: datetime) -> str:
        """Return the time to the minute, with its date unless it is near."""
        return self._element(moment, Exactness.CLOCK if is_near(moment) else Exactness.MINUTE)

    def text_of(self, moment: datetime, exactness: Exactness, zone: str = "") -> str:
        """Return the time in the form of the language."""
        return moment.astimezone(ZoneInfo(zone or self.zone)).strftime(self.words[f"time.{exactness}"])

    def _element(self, moment: datetime, exactness: Exactness) -> Markup:
        return Markup('<time datetime="{}" data-time="{}">{}</time>').format(
            moment.isoformat(), exactness, self.text_of(moment, exactness)
        )


@cache
def texts_of(code: str, zone: str = "UTC") -> PageTexts:
    words = words_of(CONSOLE_TEXTS, code)
    if code == FIRST_LANGUAGE:
        words |= words_of(RESULT_TEXTS, code)  # commands write these words too, and only in this language
    return PageTexts(code, words, zone)


def choose_language(chosen: str | None, accepted: str) -> str:
    """Return the chosen language, else the first known one of the header Accept-Language, else English."""
    if chosen in LANGUAGES:
        return str(chosen)
    for part in accepted.split(","):
        asked = part.split(";")[0].strip().replace("-", "_")
        if (code := _nearest(asked)) is not None:
            return code
    return LANGUAGES[0]


def _nearest(asked: str) -> str | None:
    """Return the language itself, else the first one of another country: `pt_BR` for `pt` and `pt_PT`."""
    same = [code for code in LANGUAGES if code.lower() == asked.lower()]
    alike = [code for code in LANGUAGES if code.split("_")[0].lower() == asked.split("_")[0].lower()]
    return next(iter(same + alike), None)
