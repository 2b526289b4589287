"""The shapes of the bodies that the control plane takes. A test checks each against the running emulator."""

from drumbeat.emulator.content.table import INCOMING_TYPES
from drumbeat.emulator.document.schemas import FLAG, NUMBER, OBJECT, TEXT, WHOLE, Schema, array, record
from drumbeat.emulator.faults.happenings import PREFERENCES
from drumbeat.emulator.faults.table import EXCHANGE_KINDS, POST_KINDS, STATUS_KINDS
from drumbeat.emulator.identity import QUALITY_RATINGS
from drumbeat.emulator.templates.template import CATEGORIES, QUALITY_SCORES, TEMPLATE_EVENTS
from drumbeat.emulator.tiers import PATTERN

ACCOUNT = record(
    {"id": TEXT},
    {
        **dict.fromkeys(("verified", "subscribed"), FLAG),
        "locked": WHOLE,
        **dict.fromkeys(("event", "review"), TEXT),
        "details": OBJECT,
    },
)
BUSINESS_NUMBER = record(
    {"id": TEXT},
    {
        **dict.fromkeys(("rate_per_s", "rate"), NUMBER),
        **dict.fromkeys(("account", "status", "verified_name", "tier_word"), TEXT),
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
_TEMPLATE = dict.fromkeys(("language", "account"), TEXT)
REVIEW = record({"status": {"enum": list(TEMPLATE_EVENTS)}}, {**_TEMPLATE, "reason": TEXT})
CATEGORY = record({"category": {"enum": list(CATEGORIES)}}, {**_TEMPLATE, "upcoming": FLAG})
QUALITY = record({"score": {"enum": list(QUALITY_SCORES)}}, _TEMPLATE)
EVENT = record({"field": TEXT, "value": OBJECT}, {"account": TEXT})
PREFERENCE = record(
    {"value": {"enum": list(PREFERENCES)}},
    dict.fromkeys(("phone_number_id", "from", "user_id", "category"), TEXT),
)
RECIPIENT = record(
    {"to": TEXT},
    {
        **dict.fromkeys(("on_network", "blocks", "reads", "hides_phone"), FLAG),
        "fails_with": WHOLE,
        **dict.fromkeys(("wa_id", "user_id"), TEXT),
    },
)
INCOMING = record(
    {},
    {
        **dict.fromkeys(("phone_number_id", "name", "text", "file"), TEXT),
        **dict.fromkeys(("from", "user_id", "quotes", "new_number"), TEXT),
        "other_id": FLAG,
        "type": {"enum": list(INCOMING_TYPES)},
    },
)


def faults_body() -> Schema:
    """Return the shape of one fault, or several, each kind with its options."""
    always = {"probability": NUMBER, "count": WHOLE}
    kinds = [
        record(
            {"kind": {"const": name}}, {**always, **{option: {} for option in (*kind.common, *kind.options)}}
        )
        for table in (EXCHANGE_KINDS, STATUS_KINDS, POST_KINDS)
        for name, kind in table.items()
    ]
    return {"anyOf": [*kinds, record({"faults": array({"anyOf": kinds})})]}
