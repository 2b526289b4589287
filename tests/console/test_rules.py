"""The console's own decisions, with plain values: limits of sign-ins, addresses, words, charts."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from drumbeat.campaigns.audience.check.glimpse import Glimpse, guess_params
from drumbeat.campaigns.console.campaigns.charts import (
    BAR_UNITS,
    INTERVAL_UNITS,
    interval_plots,
    rate_charts,
    segments,
)
from drumbeat.campaigns.console.web.language import LANGUAGES, choose_language, texts_of
from drumbeat.campaigns.console.web.request_limits import KEYS_MAX, network_of
from drumbeat.campaigns.console.web.settings import ConsoleSettings, console_settings, require_guarded
from drumbeat.campaigns.console.web.sign_in_limit import (
    ADDRESS_ATTEMPTS,
    NAME_ATTEMPTS,
    REFILL_S,
    STRANGE_ATTEMPTS,
    Attempt,
    SignInLimit,
)
from drumbeat.campaigns.results.campaign_pages import needs_person
from drumbeat.campaigns.results.number_progress import NumberProgress
from drumbeat.campaigns.results.rates import RateHistory, RateLine
from drumbeat.campaigns.results.variants import VariantResult
from drumbeat.campaigns.texts import Texts, languages_in
from drumbeat.engine.core.states import CampaignEvent, CampaignState, ReasonCode, RecipientState
from drumbeat.engine.core.template.compiler import Placeholder
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.process.settings import Settings

S = RecipientState
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def test_a_name_has_ten_wrong_attempts_from_an_address_and_one_more_each_minute() -> None:
    limit = SignInLimit()
    here, there = Attempt("ana", "10.0.0.1"), Attempt("ana", "10.0.0.2")
    assert [limit.wait_s(here, 0.0) for _ in range(NAME_ATTEMPTS)] == [0.0] * NAME_ATTEMPTS
    assert limit.wait_s(here, 0.0) == REFILL_S
    assert limit.wait_s(there, 0.0) == limit.wait_s(Attempt("bo", "10.0.0.1"), 0.0) == 0.0
    assert limit.wait_s(here, REFILL_S) == 0.0
    assert limit.wait_s(here, REFILL_S) == REFILL_S


def test_a_guess_from_many_addresses_is_slowed_down_and_locks_nobody_out() -> None:
    limit, home, browser = SignInLimit(), Attempt("ana", "192.0.2.1"), Attempt("ana", "192.0.2.9", True)
    assert limit.wait_s(home, 0.0) == 0.0
    limit.was_right(home, 0.0)
    waits = [limit.wait_s(Attempt("ana", f"10.0.0.{n}"), 0.0) for n in range(STRANGE_ATTEMPTS + 1)]
    assert waits == [0.0] * STRANGE_ATTEMPTS + [REFILL_S]
    assert limit.wait_s(home, 0.0) == limit.wait_s(browser, 0.0) == 0.0


def test_a_known_browser_comes_in_from_an_address_that_guesses_and_is_limited_itself() -> None:
    limit, browser = SignInLimit(), Attempt("ana", "10.0.0.1", is_known=True)
    while limit.wait_s(Attempt("ana", "10.0.0.1"), 0.0) == 0.0:
        pass
    assert [limit.wait_s(browser, 0.0) for _ in range(NAME_ATTEMPTS)] == [0.0] * NAME_ATTEMPTS
    assert limit.wait_s(browser, 0.0) == REFILL_S


def test_right_passwords_spend_nothing() -> None:
    limit = SignInLimit()
    for n in range(3 * STRANGE_ATTEMPTS):
        attempt = Attempt(f"user{n % 40}", "10.0.0.1")
        assert limit.wait_s(attempt, 0.0) == 0.0
        limit.was_right(attempt, 0.0)


def test_an_address_is_limited_whatever_the_names() -> None:
    limit = SignInLimit()
    waits = [limit.wait_s(Attempt(f"user{n}", "10.0.0.1"), 0.0) for n in range(ADDRESS_ATTEMPTS + 1)]
    assert waits == [0.0] * ADDRESS_ATTEMPTS + [REFILL_S]


def test_all_addresses_of_a_household_count_as_one() -> None:
    limit = SignInLimit()
    waits = [limit.wait_s(Attempt(f"user{n}", f"2001:db8::{n:x}"), 0.0) for n in range(ADDRESS_ATTEMPTS + 1)]
    assert waits == [0.0] * ADDRESS_ATTEMPTS + [REFILL_S]
    assert limit.wait_s(Attempt("ana", "2001:db8:0:1::1"), 0.0) == 0.0
    assert network_of("no address") == "no address"


def test_a_right_password_forgives_the_wrong_ones() -> None:
    limit = SignInLimit()
    for _ in range(NAME_ATTEMPTS):
        limit.wait_s(Attempt("ana", "10.0.0.1"), 0.0)
    limit.was_right(Attempt("ana", "10.0.0.1"), 0.0)
    assert limit.wait_s(Attempt("ana", "10.0.0.1"), 0.0) == 0.0


def test_invented_names_fill_no_memory() -> None:
    limit = SignInLimit()
    for n in range(KEYS_MAX + 10):
        limit.wait_s(Attempt(f"user{n}", f"address{n}"), 0.0)
    assert len(limit.buckets) <= KEYS_MAX + 3


@pytest.mark.parametrize(
    ("host", "url", "header", "has_users", "allowed"),
    [
        ("127.0.0.1", None, None, False, True),
        ("localhost", None, None, False, True),
        ("::1", None, None, False, True),
        ("0.0.0.0", None, None, True, False),
        ("0.0.0.0", "https://beat.example", None, False, False),
        ("0.0.0.0", "https://beat.example", None, True, True),
        ("beat.internal", "https://beat.example", "X-User", False, True),
    ],
)
def test_without_users_only_this_machine_is_served(
    host: str, url: str | None, header: str | None, has_users: bool, allowed: bool
) -> None:
    settings = ConsoleSettings(url, header, (), Path(), 1)
    if allowed:
        require_guarded(settings, host, has_users=has_users)
    else:
        with pytest.raises(ConfigurationError, match=host):
            require_guarded(settings, host, has_users=has_users)


def test_a_header_of_nobody_signs_nobody_in(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="CONSOLE_PROXIES"):
        console_settings(Settings(home=tmp_path, console_user_header="X-User"))


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "address"),
    [
        ("10.1.2.3", ["192.0.2.7"], "192.0.2.7"),
        ("2001:db8::1", ["invented, 192.0.2.7"], "192.0.2.7"),
        ("10.1.2.3", ["203.0.113.1", "192.0.2.7"], "192.0.2.7"),  # a proxy adds a line of its own
        ("10.1.2.3", ["203.0.113.1, 192.0.2.7", "10.4.5.6, 10.7.8.9"], "192.0.2.7"),
        ("10.1.2.3", ["192.0.2.7, 203.0.113.1", "10.4.5.6"], "203.0.113.1"),
        ("10.1.2.3", ["10.4.5.6", "10.7.8.9"], "10.4.5.6"),
        ("::ffff:10.1.2.3", ["192.0.2.7:4711"], "192.0.2.7"),
        ("10.1.2.3", ["[2001:db9::7]:4711"], "2001:db9::7"),
        ("10.1.2.3", ["192.0.2.7, unknown"], "unknown"),
        ("10.1.2.3", [], "10.1.2.3"),
        ("10.1.2.3", [" , ", ""], "10.1.2.3"),
        ("192.0.2.1", ["192.0.2.7"], "192.0.2.1"),
    ],
)
def test_only_a_proxy_of_ours_says_whose_request_it_is(
    peer: str, forwarded_for: list[str], address: str, tmp_path: Path
) -> None:
    settings = console_settings(Settings(home=tmp_path, console_proxies="10.0.0.0/8, 2001:db8::/32"))
    assert settings.address_of(peer, forwarded_for) == address


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_language_has_the_same_keys_and_places(code: str) -> None:
    first, words = texts_of(LANGUAGES[0]).words, texts_of(code).words
    assert [key for key in words if _is_whole(key, words)] == [key for key in first if _is_whole(key, first)]
    for key, text in words.items():
        of_first = first[key if _is_whole(key, words) else key.rpartition("_")[0]]
        free = set() if _is_whole(key, words) else {"count"}  # "one recipient" needs no figure
        places, known = (set(re.findall(r"\{(\w+)\}", each)) | free for each in (text, of_first))
        # A sentence may leave out what the service or a command says in English.
        assert places <= known if key.startswith("sentence.") else places == known, key


def _is_whole(key: str, words: Mapping[str, str]) -> bool:
    """Another plural form of a text stands beside it, and languages have different ones."""
    text, _, form = key.rpartition("_")
    return form not in ("zero", "one", "two", "few", "many") or text not in words


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_state_reason_and_command_has_words(code: str) -> None:
    words = texts_of(code).words
    wanted = [
        *(f"state.{state}" for state in CampaignState),
        *(f"recipient.{state}" for state in RecipientState),
    ]
    wanted += [f"reason.{reason}" for reason in ReasonCode]
    wanted += [
        f"campaign.{event}" for event in (CampaignEvent.START, CampaignEvent.PAUSE, CampaignEvent.RESUME)
    ]
    assert [key for key in wanted if not words.get(key)] == []


@pytest.mark.parametrize(
    ("chosen", "accepted", "code"),
    [
        (None, "de-DE,de;q=0.9,en;q=0.5", "de"),
        (None, "fr,de;q=0.5", "de"),
        (None, "DE_at;q=0.9", "de"),
        (None, "d", "en"),
        (None, "", "en"),
        ("en", "de", "en"),
        (None, "pt", "pt_BR"),
        (None, "pt-BR,pt;q=0.9", "pt_BR"),
        (None, "pt-PT,en;q=0.5", "pt_BR"),
        ("xx", "de", "de"),
    ],
)
def test_the_language_is_the_chosen_one_or_the_browsers(chosen: str | None, accepted: str, code: str) -> None:
    assert choose_language(chosen, accepted) == code


def test_one_thing_has_words_of_its_own() -> None:
    texts = texts_of("en")
    assert texts("numbers.throttles", count="1") == "one request throttled so far"
    assert texts("numbers.throttles", count="11") == "11 requests throttled so far"


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 0, "0.0 %"),
        (1, 1_000_000, "0.1 %"),
        (999_999, 1_000_000, "99.9 %"),
        (5, 5, "100.0 %"),
        (1, 3, "33.3 %"),
    ],
)
def test_a_share_says_100_only_if_nobody_is_missing(part: int, whole: int, text: str) -> None:
    assert texts_of("en").share(part, whole) == text
    assert texts_of("de").share(part, whole) == text.replace(".", ",")


def counts(**given: int) -> dict[RecipientState, int]:
    return {state: given.get(state.value, 0) for state in RecipientState}


def test_a_bar_fills_its_width_and_shows_a_single_recipient() -> None:
    parts = segments(counts(failed=1, pending=9_999_999))
    assert [part.state for part in parts] == [S.FAILED, S.PENDING]
    assert parts[0].width > 2 and sum(part.width for part in parts) == pytest.approx(BAR_UNITS)
    assert segments(counts()) == []


def test_a_rate_chart_keeps_the_limit_inside() -> None:
    number = NumberProgress("1", 80.0, 80.0, "x", 9, 0, None, False, None, None)
    idle = replace(number, phone_number_id="2")
    history = RateHistory(NOON, NOON, (RateLine("1", (40.0, 79.0), 3),))
    (chart,) = rate_charts(history, [number, idle])
    assert (chart.latest_per_s, chart.peak_per_s, chart.limit_per_s) == (79.0, 79.0, 80.0)
    assert (chart.attempts, chart.throttled) == (9, 3)
    assert 0 < chart.limit_y < 20
    assert [float(point.split(",")[0]) for point in chart.points.split()] == [0.0, 300.0, 300.0, 600.0]
    assert rate_charts(RateHistory(), [number]) == []


def test_intervals_that_overlap_are_drawn_so() -> None:
    def result(variant: str, read: int) -> VariantResult:
        return VariantResult(variant, "order", 1_000, 1_000, {"read": read})

    a, b = interval_plots([result("a", 500), result("b", 510)], "read")
    assert 0 < a.low < a.share < b.share < b.high < INTERVAL_UNITS and b.low < a.high
    a, b = interval_plots([result("a", 100), result("b", 900)], "read")
    assert a.high < b.low
    (only,) = interval_plots([VariantResult("a", "order", 1, 0, {"read": 0})], "read")
    assert (only.low, only.high) == pytest.approx((INTERVAL_UNITS / 12, INTERVAL_UNITS * 11 / 12))


@pytest.mark.parametrize(
    ("state", "code", "needs"),
    [
        (CampaignState.PAUSED, ReasonCode.PAUSED_BY_HAND, False),
        (CampaignState.PAUSED, ReasonCode.AUTHENTICATION_FAILED, True),
        (CampaignState.PAUSED, None, True),
        (CampaignState.RUNNING, ReasonCode.WINDOW_CLOSED, False),
        (CampaignState.RUNNING, ReasonCode.DISK_FULL, True),
        (CampaignState.RUNNING, ReasonCode.NOBODY_SENDS, True),
        (CampaignState.RUNNING, None, False),
        (CampaignState.FINISHED, ReasonCode.IN_DOUBT, True),
        (CampaignState.CANCELLED, ReasonCode.CANCELLED_BY_HAND, False),
    ],
)
def test_what_does_not_go_on_by_itself_needs_a_person(
    state: CampaignState, code: ReasonCode | None, needs: bool
) -> None:
    assert needs_person(state, code) is needs


def test_placeholders_get_the_column_that_their_name_or_example_names_and_no_other() -> None:
    seen = Glimpse(
        ("phone", "id", "first_name", "City", "code", "lang"),
        [["1"], ["7"], ["Ana"], ["Rio"], ["A1"], ["de"]],
        "csv",
    )
    places = [Placeholder("body", name) for name in ("First Name", "1", "2", "3", "4")]
    examples = {"body 1": "city", "body 2": "A1", "body 3": "de", "body 4": "Mia"}
    guessed = guess_params(seen, places, examples, ("phone", "lang"))
    assert guessed == ["first_name", "City", "code", "", ""]


def test_a_language_is_a_file_with_the_forms_and_signs_of_its_own() -> None:
    """Polish has three forms of a count, and Portuguese no other form for 0 than for 1."""
    words = {"people": "{count} osób", "people_one": "{count} osoba", "people_few": "{count} osoby"}
    polish = Texts("pl", words)
    assert [polish("people", count=count) for count in (1, 3, 5, "1,002")] == [
        "1 osoba", "3 osoby", "5 osób", "1,002 osoby"
    ]  # fmt: skip
    assert Texts("pt_BR", {"n": "{count} pessoas", "n_one": "{count} pessoa"})("n", count=0) == "0 pessoa"
    assert Texts("pt_BR", {"n": "{count} pessoas", "n_one": "uma pessoa"})("n", count=0) == "0 pessoas"
    assert Texts("pt_BR", {}).number(1234.5, 1) == "1.234,5"
    assert Texts("de_CH", {}).number(1234.5, 1) == "1’234.5"
    assert Texts("pt_BR", {}).tag == "pt-BR"
    assert languages_in("drumbeat.campaigns.console.texts") == LANGUAGES
    assert LANGUAGES[0] == "en"
