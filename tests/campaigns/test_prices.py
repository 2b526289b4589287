"""What a campaign costs by a table of the user, and countries of phones."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from drumbeat.campaigns.phones.countries import by_country, country_of
from drumbeat.campaigns.prices import Cost, cost_of, read_prices
from drumbeat.engine.errors import ConfigurationError

HEADER = "country,category,price,currency,date\n"


def table(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_each_country_has_its_price(tmp_path: Path) -> None:
    rows = (
        "de,marketing,0.10,xts,2026-01-31\nBR,MARKETING,0.0333,XXX,2026-03-01\nDE,UTILITY,9,XTS,2020-01-01\n"
    )
    prices = read_prices(table(tmp_path / "prices.csv", HEADER + rows))
    assert cost_of({"DE": 3, "BR": 1000, "FR": 7}, "MARKETING", prices) == Cost(
        "MARKETING",
        {"XTS": Decimal("0.30"), "XXX": Decimal("33.3")},
        {"FR": 7},
        date(2026, 1, 31),
        date(2026, 3, 1),
    )


def test_a_star_holds_for_all_other_countries(tmp_path: Path) -> None:
    rows = "*,MARKETING,1,XTS,2026-01-31\nDE,MARKETING,0,XTS,2026-01-31\n\n"
    prices = read_prices(table(tmp_path / "prices.csv", "\ufeff" + HEADER + rows))
    assert cost_of({"DE": 3, "FR": 7}, "MARKETING", prices).totals == {"XTS": Decimal(7)}
    assert cost_of({"DE": 3}, "UTILITY", prices) == Cost("UTILITY", {}, {"DE": 3})


REFUSED: list[tuple[str, str]] = [
    ("", "the first line must be country,category,price,currency,date"),
    ("country;category;price;currency;date\n", "the first line must be"),
    (HEADER + "DE,MARKETING,0.1,EUR\n", "the row has 4 cells, not 5 (prices.csv, row 2)"),
    (HEADER + 'DE,MARKETING,"0,1",EUR,2026-01-31\n', '"0,1" is not a price (prices.csv, row 2, column price): write it as 0.0123'),
    (HEADER + "DE,MARKETING,-1,EUR,2026-01-31\n", "is not a price"),
    (HEADER + "DE,MARKETING,NaN,EUR,2026-01-31\n", "is not a price"),
    (HEADER + "DE,MARKETING,1,EUR,31.01.2026\n", '"31.01.2026" is not a date (prices.csv, row 2, column date)'),
    (HEADER + "DE,MARKETING,1,,2026-01-31\n", "column currency"),
    (HEADER + "DE,MARKETING,1,EUR,2026-01-31\nde,marketing,2,EUR,2026-01-31\n", "de and marketing have two prices (prices.csv, row 3)"),
    ("x" * (1 << 20) + "x", "larger than 1 MiB"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "part"), REFUSED, ids=[row[1] for row in REFUSED])
def test_a_wrong_table_is_refused_with_the_place(text: str, part: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_prices(table(tmp_path / "prices.csv", text))
    told = str(refused.value).replace(f"{tmp_path}/", "")
    assert part in told
    assert "prices.csv" in told


def test_a_missing_or_binary_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "prices.xlsx").write_bytes(b"PK\x03\x04\xff\xfe")
    for name in ("none.csv", "prices.xlsx"):
        with pytest.raises(ConfigurationError, match="cannot be read"):
            read_prices(tmp_path / name)


COUNTRIES = [
    (5511980000001, "BR"),
    (4915112345678, "DE"),
    (447797712345, "GB"),  # Jersey counts with the main country of its calling code
    (14155550101, "US"),
    (14165550101, "CA"),
    (79161234567, "RU"),
    (77011234567, "KZ"),
    (35312345678, "IE"),
    (88312345678, "001"),
]


@pytest.mark.parametrize(("phone", "country"), COUNTRIES)
def test_the_country_of_a_phone(phone: int, country: str) -> None:
    assert country_of(phone) == country


def test_countries_are_counted_the_most_first() -> None:
    assert by_country([(4915112345678, 2), (5511980000001, 3), (4930123456, 4)]) == {"DE": 6, "BR": 3}
