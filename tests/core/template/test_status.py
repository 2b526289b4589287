"""Templates that the service does not send: named with their status and remedy, if somebody gets them."""

import pytest

from drumbeat.engine.core.template.campaign_template import CampaignTemplate
from drumbeat.engine.core.template.status import stopped_templates

OFFER = CampaignTemplate("offer", "de", {}, None)
NOBODY = CampaignTemplate("offer", "pl", {}, None, recipients=0)


@pytest.mark.parametrize(
    ("status", "text", "remedy"),
    [
        ("PAUSED", "paused", "wait until the service resumes it, or use another one"),
        ("paused", "paused", "wait until the service resumes it, or use another one"),
        ("DISABLED", "disabled", "use another one"),
        ("REJECTED", "rejected", "use another one"),
    ],
)
def test_a_stopped_template_is_named_with_its_remedy(status: str, text: str, remedy: str) -> None:
    statuses = {("offer", "de"): status, ("offer", "pl"): "APPROVED"}
    found = stopped_templates([OFFER, NOBODY], statuses)
    assert found == (f"the template offer (de) is {text} by the service", remedy)


@pytest.mark.parametrize("status", ["APPROVED", "FLAGGED", "IN_APPEAL", "", "SOMETHING_NEW"])
def test_the_service_decides_about_any_other_status(status: str) -> None:
    assert stopped_templates([OFFER], {("offer", "de"): status}) is None
    assert stopped_templates([OFFER], {}) is None


def test_a_template_that_nobody_gets_stops_nothing() -> None:
    assert stopped_templates([OFFER, NOBODY], {("offer", "pl"): "PAUSED"}) is None
