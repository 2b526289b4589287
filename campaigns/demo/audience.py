"""An audience that is made from a seed and looks like a real export: accents, quoting and wrong rows.

Every number is reserved for fiction, so that the demo never reaches a real phone: 555-0100 to 555-0199 of the
North American area codes, and the ranges that France's regulator reserves for films.
"""

import csv
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import phonenumbers

PHONE_COLUMN, PARAMS = "Phone", ("First name", "Order")
COLUMNS = ("Customer", PHONE_COLUMN, *PARAMS, "City")

DUPLICATE_SHARE = 0.01
BAD_PHONE_SHARE = 0.01
MISSING_VARIABLE_SHARE = 0.01
SUPPRESSED_SHARE = 0.005
FRENCH_SHARE = 0.4
FRENCH_FICTION = ("19900", "26191", "35301", "46571", "53649")  # ARCEP: numbers for audiovisual works

FIRST_NAMES = (
    "Zoë", "José", "Anaïs", "Renée", "François", "Chloé", "Beyoncé", "Siân", "Björk", "Øyvind", "Łukasz",
    "Nuño", "María José", "Jean-Luc", "Aoife", "Inês", "João", "Élodie", "O'Neil", "Thảo", "Мария", "陈伟",
    "Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald", "Radia", "Tim", "Margaret", "Dennis", "Ken",
)  # fmt: skip
CITIES = (
    "Montréal, QC", "São Paulo", "Saint-Étienne", "Nîmes", "Besançon", "New York, NY", "Washington, D.C.",
    'Winston "Salem"', "San José, CA", "Orléans", "Coeur d'Alene", "Québec",
)  # fmt: skip
BAD_PHONES = ("", "n/a", "12", "+1 212 555", "1.21256E+10", "call me", "+999 12345678", "0199")
MISSING = ("", " ", "  ")


@dataclass(frozen=True, slots=True)
class DemoAudience:
    """The counts of a written audience. `rows` are recipients, rejects and duplicates together; `suppressed`
    are the phones of some of the recipients.
    """

    path: Path
    rows: int
    recipients: int
    rejected: int
    duplicates: int
    suppressed: tuple[str, ...]


def write_audience(path: Path, *, rows: int, seed: int) -> DemoAudience:
    """Write a CSV file with `rows` data rows; the same seed writes the same file."""
    chance = random.Random(seed)  # noqa: S311 - a lifelike file, not a secret
    bad = round(rows * BAD_PHONE_SHARE)
    missing = round(rows * MISSING_VARIABLE_SHARE)
    duplicates = round(rows * DUPLICATE_SHARE)
    recipients = rows - bad - missing - duplicates
    phones = _phones(chance, recipients + missing)
    good, others = phones[:recipients], phones[recipients:]
    lines = [_row(chance, _written(chance, phone)) for phone in good]
    lines += [_row(chance, _written(chance, phone)) for phone in chance.sample(good, duplicates)]
    lines += [_row(chance, chance.choice(BAD_PHONES)) for _ in range(bad)]
    lines += [_with_hole(chance, _row(chance, _written(chance, phone))) for phone in others]
    chance.shuffle(lines)
    _write(path, lines)
    suppressed = tuple(chance.sample(good, round(rows * SUPPRESSED_SHARE)))
    return DemoAudience(path, rows, recipients, bad + missing, duplicates, suppressed)


def _write(path: Path, lines: list[list[str]]) -> None:
    with path.open("w", encoding="utf-8-sig", newline="") as file:  # as spreadsheets write it
        writer = csv.writer(file, delimiter=";")
        writer.writerow(COLUMNS)
        writer.writerows([str(number), *line] for number, line in enumerate(lines, 1))


def _phones(chance: random.Random, count: int) -> list[str]:
    french = round(count * FRENCH_SHARE)
    return chance.sample(list(_french()), french) + chance.sample(list(_american()), count - french)


def _french() -> Iterator[str]:
    return (f"+33{prefix}{line:04}" for prefix in FRENCH_FICTION for line in range(10_000))


def _american() -> Iterator[str]:
    """Give the fictional numbers of the area codes that exist."""
    for area in range(200, 990):
        if phonenumbers.is_valid_number(phonenumbers.parse(f"+1{area}5550100")):
            yield from (f"+1{area}5550{line}" for line in range(100, 200))


def _row(chance: random.Random, phone: str) -> list[str]:
    order = f"{chance.choice('ABCDEFGH')}-{chance.randrange(10_000, 99_999)}"
    return [phone, chance.choice(FIRST_NAMES), order, chance.choice(CITIES)]


def _with_hole(chance: random.Random, row: list[str]) -> list[str]:
    row[chance.choice((1, 2))] = chance.choice(MISSING)
    return row


def _written(chance: random.Random, phone: str) -> str:
    """Return the number in one of the forms that people write."""
    digits = phone[1:]
    if digits.startswith("1"):
        area, office, line = digits[1:4], digits[4:7], digits[7:]
        styles = (
            phone,
            f"+1 ({area}) {office}-{line}",
            f"+1 {area} {office} {line}",
            f"+1-{area}-{office}-{line}",
        )
    else:
        pairs = " ".join(digits[3:][at : at + 2] for at in range(0, 8, 2))
        styles = (phone, f"+33 {digits[2]} {pairs}", f"+33 (0) {digits[2]} {pairs}", f"+33{digits[2:]}")
    return chance.choice(styles)
