"""Which language of a template is meant by what people write."""

import pytest

from drumbeat.engine.core.template.language import find_language

LANGUAGES = ("en_US", "pt_BR", "es", "es_MX", "zh_CN", "zh_TW", "fr")


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("pt_BR", "pt_BR"),
        ("pt-br", "pt_BR"),
        ("PT_BR", "pt_BR"),
        ("  pt-BR ", "pt_BR"),
        ("pt", "pt_BR"),
        ("EN", "en_US"),
        ("es", "es"),
        ("es_AR", "es"),
        ("fr-CA", "fr"),
        ("zh", None),  # two regions: nobody knows which
        ("pt_PT", None),  # another region is another language to its readers
        ("en_GB", None),
        ("de", None),
        ("", None),
        ("   ", None),
        ("_", None),
        ("-BR", None),
        ("p", None),
        ("Portuguese", None),
    ],
)
def test_a_language_as_people_write_it(written: str, found: str | None) -> None:
    assert find_language(written, LANGUAGES) == found
