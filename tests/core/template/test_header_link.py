"""What a header's link must answer, and when a signed link ends."""

from datetime import UTC, datetime

import pytest

from drumbeat.engine.core.media_limits import BYTES_MAX
from drumbeat.engine.core.template.header_link import LinkAnswer, header_kind, link_ends_at, link_problem

SHOWN = [
    ("image", LinkAnswer(200, "image/jpeg", 10)),
    ("image", LinkAnswer(200, "IMAGE/PNG; charset=binary", None)),
    ("image", LinkAnswer(206, "application/octet-stream", 10)),
    ("video", LinkAnswer(200, "video/mp4", BYTES_MAX["video"])),
    ("document", LinkAnswer(200, "application/pdf", 10)),
    ("document", LinkAnswer(200, "", None)),
]
NOT_SHOWN = [
    ("image", LinkAnswer(404, "image/jpeg", 10), "it answers 404"),
    ("image", LinkAnswer(403, "", None), "it answers 403"),
    ("image", LinkAnswer(302, "image/jpeg", 10), "it answers 302"),
    ("image", LinkAnswer(200, "text/html", 10), "it answers with text/html"),
    ("image", LinkAnswer(200, "image/webp", 10), "an image may be image/jpeg"[3:]),
    ("video", LinkAnswer(200, "image/jpeg", 10), "a video may be video/3gpp, video/mp4"),
    ("document", LinkAnswer(200, "text/html; charset=utf-8", 10), "it answers with text/html"),
    ("image", LinkAnswer(200, "image/jpeg", 0), "an empty file"),
    ("image", LinkAnswer(200, "image/jpeg", BYTES_MAX["image"] + 1), "an image may have"[3:]),
]
LINKS = {
    "https://x.example/a.jpg": None,
    "https://x.example/a.jpg?X-Amz-Date=20250101T000000Z&X-Amz-Expires=3600": datetime(
        2025, 1, 1, 1, tzinfo=UTC
    ),
    "https://x.example/a.jpg?X-Goog-Date=20250101T000000Z&X-Goog-Expires=60": datetime(
        2025, 1, 1, 0, 1, tzinfo=UTC
    ),
    "https://x.example/a.jpg?Expires=1735689600&Signature=x": datetime(2025, 1, 1, tzinfo=UTC),
    "https://x.example/a.jpg?sv=1&se=2025-01-01T00%3A00%3A00Z&sig=y": datetime(2025, 1, 1, tzinfo=UTC),
    "https://x.example/a.jpg?se=2025-01-01&page=2": None,
    "https://x.example/a.jpg?X-Amz-Date=soon&X-Amz-Expires=3600": None,
    "https://x.example/a.jpg?X-Amz-Date=20250101T000000Z&X-Amz-Expires=9e99": None,
    "https://x.example/a.jpg?Expires=never": None,
    "https://x.example/a.jpg?exp=12": None,
}


@pytest.mark.parametrize(("kind", "answer"), SHOWN)
def test_what_can_be_shown(kind: str, answer: LinkAnswer) -> None:
    assert link_problem(kind, answer._replace(status=200)) is None


@pytest.mark.parametrize(("kind", "answer", "words"), NOT_SHOWN)
def test_what_cannot_be_shown_and_why(kind: str, answer: LinkAnswer, words: str) -> None:
    assert words in (link_problem(kind, answer) or "")


@pytest.mark.parametrize("link", LINKS)
def test_when_a_link_ends(link: str) -> None:
    assert link_ends_at(link) == LINKS[link]


def test_the_kind_of_a_header() -> None:
    assert (
        header_kind({"components": ["x", {"type": "body"}, {"type": "header", "format": "IMAGE"}]}) == "image"
    )
    assert header_kind({}) == ""
