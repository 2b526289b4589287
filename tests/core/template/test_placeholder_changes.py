"""How the placeholders of templates differ, in words."""

from typing import Any

import pytest

from drumbeat.engine.core.template.compiled import Media
from drumbeat.engine.core.template.compiler import Placeholder, compile_template
from drumbeat.engine.core.template.placeholder_changes import placeholder_differences, request_changes

MEDIA = Media(media_id="77")
ONE, TWO, LINK = Placeholder("body", "1"), Placeholder("body", "2"), Placeholder("button", "1")


@pytest.mark.parametrize(
    ("first", "other", "said"),
    [
        ([ONE, TWO], [ONE, TWO], []),
        ([ONE, TWO], [TWO, ONE], []),
        ([ONE, TWO], [ONE], ["no body {{2}}"]),
        ([ONE], [ONE, LINK, LINK], ["a button {{1}}", "a button {{1}}"]),
        ([ONE, TWO], [ONE, LINK], ["no body {{2}}", "a button {{1}}"]),
    ],
)
def test_what_another_language_lacks_or_has_besides(
    first: list[Placeholder], other: list[Placeholder], said: list[str]
) -> None:
    assert placeholder_differences(first, other) == said


def body(text: str) -> dict[str, Any]:
    return {"type": "BODY", "text": text}


def header(form: str, text: str = "") -> dict[str, Any]:
    return {"type": "HEADER", "format": form, "text": text}


def links(*urls: str) -> dict[str, Any]:
    return {"type": "BUTTONS", "buttons": [{"type": "URL", "text": "See", "url": url} for url in urls]}


def changes(before: list[dict[str, Any]], now: list[dict[str, Any]], form: str = "POSITIONAL") -> list[str]:
    old, new = (
        compile_template({"components": each, "parameter_format": form}, "chat", header_media=MEDIA)
        for each in (before, now)
    )
    return request_changes(old, new)


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ([body("Hi {{1}}")], [body("Hello {{1}}!")], []),
        ([body("Hi {{1}}")], [body("Hi {{1}}, {{2}}")], ["body {{2}} was added"]),
        ([body("Hi {{1}}, {{2}}")], [body("Hi")], ["body {{1}} was removed", "body {{2}} was removed"]),
        ([body("Hi")], [header("TEXT", "{{1}}"), body("Hi")], ["header {{1}} was added"]),
        ([header("IMAGE"), body("Hi")], [header("VIDEO"), body("Hi")], ["header image became video"]),
        ([header("IMAGE"), body("Hi")], [body("Hi")], ["header image was removed"]),
        (
            [body("Hi"), links("https://x/{{1}}", "https://y")],
            [body("Hi"), links("https://x", "https://y/{{1}}")],
            ["button 0 url {{1}} was removed", "button 1 url {{1}} was added"],
        ),
    ],
)
def test_what_changed_in_the_request(
    before: list[dict[str, Any]], now: list[dict[str, Any]], said: list[str]
) -> None:
    assert changes(before, now) == said


def test_named_parameters_may_change_their_order_but_not_their_names() -> None:
    first = [body("Hi {{name}}, {{order}}")]
    assert changes(first, [body("{{order}} for {{name}}")], "NAMED") == []
    assert changes(first, [body("Hi {{name}}, {{parcel}}")], "NAMED") == ["body {{order}} became {{parcel}}"]
