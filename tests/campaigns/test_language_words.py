"""The language of a cell in words, as people write it in lists."""

import pytest

from drumbeat.campaigns.audience.check.language_words import find_meant_language

LANGUAGES = ("de", "en_US", "pt_BR", "fr")


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("Englisch", "en_US"),
        ("english", "en_US"),
        ("EN", "en_US"),
        ("eng", "en_US"),
        (" Deutsch ", "de"),
        ("ger", "de"),
        ("português", "pt_BR"),
        ("Französisch", "fr"),
        ("de-AT", "de"),
        ("en-GB", None),  # never another region
        ("Klingon", None),
        ("", None),
    ],
)
def test_words_and_codes_name_a_language(written: str, found: str | None) -> None:
    assert find_meant_language(written, LANGUAGES) == found


def test_a_word_for_two_regions_names_none_and_its_region_one() -> None:
    languages = ("en_US", "en_GB")
    assert find_meant_language("english", languages) is None
    assert find_meant_language("British English", languages) == "en_GB"
