"""What the words of template events mean; a word outside the table changes no status."""

import pytest

from drumbeat.engine.core.template.events import read_template_word


@pytest.mark.parametrize(
    ("word", "status", "stopped"),
    [
        ("APPROVED", "APPROVED", ""),
        ("reinstated", "APPROVED", ""),
        ("UNLOCKED", "APPROVED", ""),
        ("PENDING", "PENDING", ""),
        ("PAUSED", "PAUSED", "paused"),
        ("DISABLED", "DISABLED", "disabled"),
        ("REJECTED", "REJECTED", "rejected"),
        ("FLAGGED", None, ""),
        ("IN_APPEAL", None, ""),
        ("PENDING_DELETION", None, ""),
        ("SOMETHING_NEW", None, ""),
    ],
)
def test_a_word_and_its_status(word: str, status: str | None, stopped: str) -> None:
    assert read_template_word(word) == (status, stopped)
