"""No secret and no recipient's phone is readable in the log, whichever module logs it."""

import subprocess
import sys

import orjson
import pytest
from pydantic import SecretStr

from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.process.telemetry import Mask, configure_logging, mask_phone
from tests.warm import ROOT

SECRET, PHONE = "hush-hush-1234", "5511987654321"

EVERYTHING = f"""
import logging, structlog
from pydantic import SecretStr
from drumbeat.engine.process.telemetry import configure_logging
configure_logging([SecretStr({SECRET!r})])
log = structlog.get_logger()
log.info("sent", phone={PHONE}, to={PHONE!r}, token=SecretStr({SECRET!r}), header="Bearer abc.def")
log.info("answered", detail="+{PHONE} is not on the network", headers={{"a": ["{SECRET}"]}})
log.info("connected", url="postgresql://drumbeat:s3cr3t@db:5432/x")
logging.getLogger("library").warning("token %s of %s", {SECRET!r}, {PHONE})
try:
    raise ValueError({SECRET!r} + " for {PHONE}")
except ValueError:
    log.exception("broke", range_id=354090061999395535, phone_number_id="106540352242922")
"""


def test_nothing_of_a_log_shows_a_secret_or_a_number() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EVERYTHING], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    for hidden in (SECRET, PHONE, "abc.def", "s3cr3t"):
        assert hidden not in done.stderr
    events = [orjson.loads(line) for line in done.stderr.splitlines()]
    assert [event["event"] for event in events] == [
        "sent", "answered", "connected", "token *** of ***4321", "broke",
    ]  # fmt: skip
    assert events[0]["phone"] == events[0]["to"] == "***4321"
    assert events[-1]["range_id"] == 354090061999395535
    assert events[-1]["phone_number_id"] == "106540352242922"
    assert "ValueError" in events[-1]["exception"]
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("to +5511987654321.", "to ***4321."),
        ("1,000 of 12345", "1,000 of 12345"),
        ("range 354090061999395535", "range 354090061999395535"),
        ("wamid.12345678", "wamid.12345678"),
        ("authorization: bearer XYZ", "authorization: bearer ***"),
    ],
)
def test_what_is_masked_in_a_text(text: str, masked: str) -> None:
    assert Mask()(None, "info", {"detail": text}) == {"detail": masked}


def test_a_short_secret_is_no_pattern() -> None:
    assert Mask([SecretStr("a"), None])(None, "info", {"detail": "banana"}) == {"detail": "banana"}


def test_a_number_shows_its_last_digits() -> None:
    assert mask_phone(5511987654321) == "***4321"


def test_an_unknown_log_level_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="DRUMBEAT_LOG_LEVEL"):
        configure_logging(level="loud")
