"""Which template a row gets, by language and variant."""

from collections import Counter

from drumbeat.campaigns.audience.check.template_choice import (
    OTHER_VALUES,
    VALUES_COUNTED_MAX,
    TemplateChoice,
    TemplateChooser,
)

PHONE = 5511960000000
LANGUAGES = ("en", "pt_BR")


def test_every_variant_has_every_language() -> None:
    phones = [PHONE + n for n in range(200)]
    chooser = TemplateChooser(TemplateChoice(LANGUAGES, "tongue", "spring", (1, 1)), 1)
    plain = TemplateChooser(TemplateChoice(("en",), None, "spring", (1, 1)), None)

    variants = plain.choose(None, phones, Counter())
    indexes = chooser.choose(["pt", "en"] * 100, phones, Counter())

    assert set(indexes) == {0, 1, 2, 3}
    assert [index // 2 for index in indexes] == variants
    assert [index % 2 for index in indexes] == [1, 0] * 100


def test_two_spellings_of_a_phone_are_one_person() -> None:
    chooser = TemplateChooser(TemplateChoice(("en",), None, "spring", (1, 1)), None)
    old, new = ([phone(n) for n in range(100)] for phone in (_eight_digits, _nine_digits))
    assert chooser.choose(None, old, Counter()) == chooser.choose(None, new, Counter())


def _eight_digits(n: int) -> int:
    return 55_11_80000000 + n


def _nine_digits(n: int) -> int:
    return 55_11_980000000 + n


def test_a_column_of_another_kind_does_not_fill_the_memory() -> None:
    chooser = TemplateChooser(TemplateChoice(LANGUAGES, "name"), 0)
    unmatched: Counter[str] = Counter()
    cells = [f"Name {n}" for n in range(VALUES_COUNTED_MAX + 50)]

    assert set(chooser.choose(cells, [PHONE] * len(cells), unmatched)) == {0}
    assert unmatched[OTHER_VALUES] == 50
    assert unmatched.total() == len(cells)
    assert len(unmatched) == VALUES_COUNTED_MAX + 1
