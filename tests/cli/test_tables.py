"""Tables of plain text: columns stand one below the other in any script."""

import pytest

from drumbeat.campaigns.cli.printing import print_rows


def test_wide_and_combined_letters_keep_the_columns(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(("NAME", "STATE"), [("灯籠", "draft"), ("Zoe\u0308", "paused"), ("a", None)])
    assert capsys.readouterr().out.splitlines() == [
        "NAME  STATE",
        "灯籠  draft",
        "Zoe\u0308   paused",
        "a",
    ]
