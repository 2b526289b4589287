"""What errors say stands in every language: the sentences of the code that a page may show are translated."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from drumbeat.campaigns.console.web.language import LANGUAGES, texts_of
from drumbeat.campaigns.console.web.problems import FAULTS
from drumbeat.campaigns.console.web.sentences import SECTION, remedy_said, said, translated
from drumbeat.engine.core.states import CampaignEvent, CampaignState, IllegalTransition
from drumbeat.engine.errors import UsageError

ROOT = Path(__file__).parents[2]
OTHERS = LANGUAGES[1:]
# The packages whose errors answer a form of the console.
SHOWN = ("options", "changing", "life", "console", "planning/staged", "planning/checked", "phones")
# What only commands, programs and operators meet.
NOT_SHOWN = re.compile(
    r"options/(manifest|readiness|audience_options|stored\.)|changing/(send_message|derived)"
    r"|life/(run|prune|time_limit)|console/(server|new/messages|web/(settings|oidc_rules))|phones/(opt_out_words|old_numbers)"
)
OF_A_FAULT = "7: 7"  # a field, and a fault of its value
ERRORS = {"UsageError", "NotFound", "NotReady", "TryLater", "ConfigurationError", "Incomplete", "NameTaken"}


def shown_texts() -> Iterator[tuple[str, str]]:
    """Where an error of the code is raised, and what it says, with a figure in each place."""
    for package in SHOWN:
        for path in sorted((ROOT / "campaigns" / package).rglob("*.py")):
            place = path.relative_to(ROOT).as_posix()
            if NOT_SHOWN.search(place):
                continue
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS:
                    is_form = any(keyword.arg == "values" for keyword in node.keywords)
                    text = written(node.args[0], is_form) if node.args else None
                    if text is not None and text != OF_A_FAULT:
                        yield f"{place}: {text}", text


def written(node: ast.expr, is_form: bool) -> str | None:
    match node:
        case ast.Constant(value=str() as text):
            pass
        case ast.JoinedStr(values=parts):
            text = "".join(
                str(part.value)
                if isinstance(part, ast.Constant)
                else "'7'"
                if isinstance(part, ast.FormattedValue) and part.conversion == ord("r")
                else "7"
                for part in parts
            )
        case _:
            return None
    return re.sub(r"\{\w+(!r)?\}", lambda found: "'7'" if found[1] else "7", text) if is_form else text


TEXTS = dict(shown_texts())


@pytest.mark.parametrize("place", TEXTS)
def test_what_an_error_says_is_known_in_every_language(place: str) -> None:
    assert [code for code in OTHERS if translated(code, TEXTS[place]) is None] == []


@pytest.mark.parametrize("fault", FAULTS.values())
def test_a_fault_of_a_value_is_known_in_every_language(fault: str) -> None:
    assert [code for code in OTHERS if translated(code, f"“Start”: {fault}") is None] == []


def test_errors_are_found() -> None:
    assert len(TEXTS) > 80


@pytest.mark.parametrize("code", OTHERS)
def test_every_order_that_a_state_refuses_is_said(code: str) -> None:
    for state in CampaignState:
        for event in (CampaignEvent.START, CampaignEvent.PAUSE, CampaignEvent.RESUME, CampaignEvent.CANCEL):
            what, remedy = IllegalTransition(state, event).told()
            words = said(texts_of(code), what) + remedy_said(texts_of(code), remedy)
            assert "<span" not in words
            assert texts_of(code)(f"state.{state}") in words


def test_a_sentence_names_a_field_by_its_label_and_a_time_on_the_clock_of_the_page() -> None:
    texts = texts_of("de", "Europe/Berlin")
    what, _ = UsageError("{expires_at} is in the past: nothing would be sent", values={}).told(texts.option)
    assert said(texts, what) == "“Ende” liegt in der Vergangenheit: Es würde nichts gesendet."
    line = "canary: 5 sent to, 3 arrived, 1 failed (20.0 %); its statuses are awaited until 2030-01-02T03:04+00:00"
    words = said(texts, line)
    assert "02.01.2030, 04:04:00" in words and "Probe: an 5 gesendet" in words


def test_an_unknown_sentence_is_marked_and_a_command_is_no_remedy() -> None:
    german = texts_of("de")
    assert said(german, "a <b> of the service") == '<span lang="en">a &lt;b&gt; of the service</span>'
    assert said(texts_of("en"), "a <b> of the service") == "a &lt;b&gt; of the service"
    assert translated("de", "Rate limit: hit") is translated("de", "the service needs a rest") is None
    assert said(german, None) == ""
    for code in LANGUAGES:
        assert remedy_said(texts_of(code), "run `drumbeat numbers sync`") == ""
        assert remedy_said(texts_of(code), "give a later --start-at") == ""


@pytest.mark.parametrize("code", OTHERS)
def test_no_sentence_holds_a_command_or_an_option(code: str) -> None:
    words = texts_of(code).words
    wrong = [
        key for key in words if key.startswith(SECTION) and re.search(r"`|--[a-z]|DRUMBEAT_", words[key])
    ]
    assert wrong == []
