"""The shapes of the bodies that the control plane takes. A test checks each against the running emulator."""

from drumbeat.emulator.content.table import INCOMING_TYPES
from drumbeat.emulator.document.schemas import FLAG, NUMBER, TEXT, WHOLE, Schema, array, record
from drumbeat.emulator.faults.table import COMMON_OPTIONS, EXCHANGE_KINDS, STATUS_KINDS
from drumbeat.emulator.identity import QUALITY_RATINGS
from drumbeat.emulator.templates.template import STATUSES
from drumbeat.emulator.tiers import PATTERN

ACCOUNT = record({"id": TEXT}, {"verified": FLAG, "locked": WHOLE, "event": TEXT})
BUSINESS_NUMBER = record(
    {"id": TEXT},
    {
        **dict.fromkeys(("rate_per_s", "rate"), NUMBER),
        **dict.fromkeys(("account", "status", "verified_name"), TEXT),
        "test_recipients": array(TEXT),
        "quality_rating": {"enum": list(QUALITY_RATINGS)},
        "messaging_limit_tier": {"type": "string", "pattern": PATTERN},
    },
)
TOKEN = record(
    {"value": TEXT},
    {
        "expires_in_s": WHOLE,
        "permissions": array({"enum": ["messaging", "management"]}),
        "accounts": array(TEXT),
        "app": TEXT,
        "revoked": FLAG,
    },
)
REVIEW = record({"status": {"enum": list(STATUSES)}}, {"language": TEXT, "reason": TEXT})
RECIPIENT = record(
    {"to": TEXT},
    {**dict.fromkeys(("on_network", "blocks", "reads"), FLAG), "fails_with": WHOLE, "wa_id": TEXT},
)
INCOMING = record(
    {"from": TEXT},
    {
        **dict.fromkeys(("phone_number_id", "name", "text", "file"), TEXT),
        "type": {"enum": list(INCOMING_TYPES)},
    },
)


def faults_body() -> Schema:
    """Return the shape of one fault, or several, each kind with its options."""
    always = {"probability": NUMBER, "count": WHOLE, **{name: {} for name in COMMON_OPTIONS}}
    kinds = [
        record({"kind": {"const": name}}, {**always, **{option: {} for option in kind.options}})
        for table in (EXCHANGE_KINDS, STATUS_KINDS)
        for name, kind in table.items()
    ]
    return {"anyOf": [*kinds, record({"faults": array({"anyOf": kinds})})]}
