"""The column of phones is found by its values; two of them are a question."""

from collections.abc import Sequence

import pytest

from drumbeat.campaigns.audience.check.phone_columns import phone_columns

A, B, C = "+14155550101", "+14155550102", "+14155550103"


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({"hotel": ["Alfa", "Beta"], "celular": [A, B], "nome": ["Ada", "Ben"]}, ["celular"]),
        ({"Phone 1 - Type": ["Home", "Work"], "Phone 1 - Value": [A, f"{B} ::: {C}"]}, ["Phone 1 - Value"]),
        ({"Phone 1 - Label": ["Mobile", "Mobile"], "Phone 1 - Value": [A, B], "Phone 2 - Value": [C, ""]},
         ["Phone 1 - Value"]),
        ({"last phone call": ["2026-01-02", "03.01.2026"], "Kontakt": [A, B]}, ["Kontakt"]),
        ({"Mobile phone consent": ["yes", "no"], "Nummer": [A, B]}, ["Nummer"]),
        ({"Telefon-Nr.": ["030 23125001", "0171 3920000"], "PLZ": ["10115", "80331"]}, ["Telefon-Nr."]),
        ({"order": ["1000234567", "1000234568"], "mobile": ["415 555 0101", "415 555 0102"]}, ["mobile"]),
        ({"phone calls": ["3", "12"], "wa_id": ["14155550101", "14155550102"]}, ["wa_id"]),
        ({"Fax phone": [A, B], "Phone": [B, C]}, ["Phone"]),
        ({"cancelled": ["x", ""], "tel": [A, "n/a"]}, ["tel"]),
        ({"total": ["1234567.80", "7654321.50"], "Kunde": ["Ada", "Ben"]}, []),
        ({"phone": [A, B], "mobile": [B, C]}, ["phone", "mobile"]),
        ({"Telefon": ["030 23125001", ""], "Handy": ["", "0171 3920000"]}, ["Telefon", "Handy"]),
        ({"kontakt": ["415 555 0101", "415 555 0102"], "name": ["Ada", "Ben"]}, ["kontakt"]),
        ({"name": [], "Phone Number": []}, ["Phone Number"]),
        ({"name": ["Ada"], "city": ["Rio"]}, []),
    ],
)  # fmt: skip
def test_phones_are_found_by_values(columns: dict[str, Sequence[str]], found: list[str]) -> None:
    rows = list(zip(*columns.values(), strict=True))
    assert phone_columns(list(columns), rows) == found
