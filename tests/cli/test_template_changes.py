"""A template that changed after the campaign was created: run, start and resume refuse before anybody fails."""

import urllib.request
from pathlib import Path

import orjson
import pytest

from drumbeat.engine.core.interface import API_VERSION
from drumbeat.engine.store.database import Pool
from tests.cli.conftest import CREATE
from tests.cli.processes import ACCOUNT, TOKEN, Drumbeat, Service, until

PARAMS = ("--param", "name", "--param", "order")
WORDS = "order_shipped (en_US): body {{3}} was added"


@pytest.fixture
def spring(drumbeat: Drumbeat, synced: Service, audience: Path) -> Drumbeat:
    drumbeat.ok(*CREATE, "--audience", audience, *PARAMS)
    return drumbeat


def replace_template(service: Service, text: str) -> None:
    """Delete the English template at the service, and create it anew with another text."""
    base = f"{service.url}/{API_VERSION}/{ACCOUNT}/message_templates"
    listed = _call("GET", f"{base}?name=order_shipped&language=en_US")["data"]
    _call("DELETE", f"{base}?name=order_shipped&hsm_id={listed[0]['id']}")
    body = {"type": "BODY", "text": text}
    new = {"name": "order_shipped", "language": "en_US", "category": "UTILITY", "components": [body]}
    _call("POST", base, new)
    service.post("templates/order_shipped/status", {"status": "APPROVED", "language": "en_US"})


def _call(method: str, url: str, content: object = None) -> dict[str, list[dict[str, str]]]:
    body = None if content is None else orjson.dumps(content)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, body, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as reply:
        return orjson.loads(reply.read())


def test_nobody_is_sent_a_message_that_no_longer_fits(spring: Drumbeat, synced: Service) -> None:
    replace_template(synced, "Hi {{1}}, order {{2}} comes with {{3}}.")

    for command in ("run", "start"):
        refused = spring("campaign", command, "spring")
        assert (refused.exit_code, WORDS in refused.complaint) == (78, True), refused.stderr
        assert spring.ok("campaign", "status", "spring", "--json").json["state"] == "draft"
    spring.ok("campaign", "pause", "spring")
    assert spring("campaign", "resume", "spring").exit_code == 78
    assert synced.accepted() == 0

    replace_template(synced, "Hello {{1}}, order {{2}} left us.")
    resumed = spring.ok("campaign", "resume", "spring")
    assert "order_shipped (en_US) has another text now" in resumed.stderr
    assert spring.ok("campaign", "run", "spring", "--json").json["counts"]["failed"] == 0
    assert synced.accepted() == 10


def test_without_an_answer_of_the_service_the_stored_template_counts(spring: Drumbeat) -> None:
    away = spring.ok("campaign", "start", "spring", base_url="http://127.0.0.1:9")
    assert "the stored templates were checked, not those of the service" in away.stderr


@pytest.mark.parametrize(
    ("status", "words"), [("PAUSED", "is paused"), ("DISABLED", "is disabled"), ("REJECTED", "is rejected")]
)
def test_a_template_that_the_service_does_not_send_is_refused_before_anybody_is_tried(
    spring: Drumbeat, synced: Service, status: str, words: str
) -> None:
    """No event told it: the service is asked."""
    synced.post("templates/order_shipped/status", {"status": status, "language": "en_US"})
    for command in (("start",), ("run",), ("run", "--wait")):
        refused = spring("campaign", command[0], "spring", *command[1:])
        assert (refused.exit_code, f"order_shipped (en_US) {words}" in refused.complaint) == (75, True), (
            refused.stderr
        )
    spring.ok("campaign", "pause", "spring")
    refused = spring("campaign", "resume", "spring")
    assert (refused.exit_code, f"order_shipped (en_US) {words}" in refused.complaint) == (75, True), (
        refused.stderr
    )
    assert spring.ok("campaign", "status", "spring", "--json").json["state"] == "paused"
    synced.post("templates/order_shipped/status", {"status": "APPROVED", "language": "en_US"})
    spring.ok("campaign", "resume", "spring")
    assert spring.ok("campaign", "run", "spring", "--json").json["counts"]["failed"] == 0
    assert synced.accepted() == 10


def test_resume_all_leaves_it_paused_and_a_resume_loses_nobody(spring: Drumbeat, synced: Service) -> None:
    """A template that is paused while its campaign sends: the refused recipients wait, however often it is resumed."""
    spring.ok("numbers", "limit", "2", "5")
    run = spring.start("campaign", "run", "spring", "--quiet")
    until(lambda: synced.accepted() >= 3, "it sends")
    synced.post("templates/order_shipped/status", {"status": "PAUSED", "language": "en_US"})
    _, stderr = run.communicate(timeout=60)
    assert (run.returncode, "132015" in stderr) == (75, True), stderr
    for _ in range(2):
        assert "is paused by the service" in spring("campaign", "resume", "--all").stderr
    status = spring.ok("campaign", "status", "spring", "--json").json
    assert (status["state"], status["counts"]["failed"]) == ("paused", 0)
    synced.post("templates/order_shipped/status", {"status": "APPROVED", "language": "en_US"})
    spring.ok("campaign", "resume", "--all")
    assert spring.ok("campaign", "run", "spring", "--json").json["counts"]["failed"] == 0
    assert synced.accepted() == 10


async def test_an_approved_canary_waits_for_a_template_that_the_service_sends(
    drumbeat: Drumbeat, synced: Service, audience: Path, pool: Pool
) -> None:
    """The rest of the recipients would be refused, as after a resume."""
    drumbeat.ok(*CREATE, "--audience", audience, *PARAMS, "--canary", "2", "--canary-approve")
    await pool.execute(
        "UPDATE campaigns SET state = 'paused', reason = 'waits', reason_code = 'approval_needed'"
    )
    synced.post("templates/order_shipped/status", {"status": "PAUSED", "language": "en_US"})
    refused = drumbeat("campaign", "approve", "spring")
    assert (refused.exit_code, "order_shipped (en_US) is paused" in refused.complaint) == (75, True)
    synced.post("templates/order_shipped/status", {"status": "APPROVED", "language": "en_US"})
    [change] = drumbeat.ok("campaign", "approve", "spring", "--json").json["campaigns"]
    assert (change["state"], change["changed"]) == ("running", True)
