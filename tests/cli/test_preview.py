"""`campaign preview`: the message of a stored recipient, as its reader will see it."""

from pathlib import Path

import pytest

from tests.cli.processes import Drumbeat, Service

CREATE = (
    "campaign",
    "create",
    "spring",
    "--template",
    "order_shipped",
    "--language",
    "en_US",
    "--number",
    "1",
)
PARAMS = ("--param", "name", "--param", "order")


@pytest.fixture
def spring(drumbeat: Drumbeat, synced: Service, tmp_path: Path) -> Drumbeat:
    """A campaign whose rows 2 and 5 are recipients, 3 is rejected, 4 a duplicate and 6 suppressed."""
    rows = (
        "+5491123456789,Ana,A-1",
        "12,Bob,B-1",
        "+541123456789,Ana,A-2",
        "+4915112345678,<script>alert(1)</script>,C-1",
        "+4915112345679,Dora,D-1",
    )
    (tmp_path / "people.csv").write_text("phone,name,order\n" + "\n".join(rows) + "\n", "utf-8")
    drumbeat.ok("suppress", "add", "+4915112345679")
    drumbeat.ok(*CREATE, "--audience", "people.csv", *PARAMS)
    return drumbeat


def test_the_first_recipient_is_shown(spring: Drumbeat) -> None:
    seen = spring.ok("campaign", "preview", "spring", "--json").json
    assert list(seen) == [
        "schema", "name", "template", "language", "variant", "phone", "row", "skip_reason", "message",
    ]  # fmt: skip
    assert (seen["phone"], seen["row"], seen["skip_reason"]) == ("5491123456789", 2, None)
    body = seen["message"]["body"]
    assert "Ana" in body
    assert "A-1" in body
    assert "{{" not in body
    assert spring.ok("campaign", "preview", "spring").stdout.splitlines()[0] in body


def test_a_recipient_is_found_by_row_and_by_any_form_of_the_phone(spring: Drumbeat) -> None:
    by_row = spring.ok("campaign", "preview", "spring", "--row", "5", "--json").json
    assert by_row["phone"] == "4915112345678"
    by_phone = spring.ok("campaign", "preview", "spring", "--phone", "+54 11 2345-6789", "--json").json
    assert by_phone["row"] == 2, "the form without the 9 of a mobile"
    skipped = spring.ok("campaign", "preview", "spring", "--row", "6", "--json").json
    assert skipped["skip_reason"] == "suppressed"


def test_the_page_escapes_what_the_audience_says_and_loads_nothing(spring: Drumbeat, tmp_path: Path) -> None:
    done = spring.ok("campaign", "preview", "spring", "--row", "5", "--html", "page.html")
    assert "<script>alert(1)</script>" in done.stdout, "plain text is shown as it is"
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script" not in page
    assert "src=" not in page
    assert "href=" not in page


REFUSALS: list[tuple[tuple[str, ...], int, str]] = [
    (("spring", "--row", "3"), 78, "row 3"),
    (("spring", "--row", "4"), 78, "a duplicate"),
    (("spring", "--phone", "+4915100000000"), 78, "is not a recipient"),
    (("spring", "--phone", "12"), 2, "too few digits"),
    (("spring", "--row", "2", "--phone", "+5491123456789"), 2, "not both"),
    (("spring", "--html", "no/such/page.html"), 78, "cannot be written"),
    (("autumn",), 78, 'no campaign "autumn"'),
]


def test_what_is_no_recipient_is_refused(spring: Drumbeat) -> None:
    for words, exit_code, part in REFUSALS:
        done = spring("campaign", "preview", *words)
        assert (done.exit_code, done.stdout) == (exit_code, ""), words
        assert part in done.complaint
