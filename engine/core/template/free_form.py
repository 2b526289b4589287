"""The compiler of a free-form message for a campaign. Every recipient gets the same one."""

import json
from collections.abc import Mapping
from typing import Any

from drumbeat.engine.core.template.compiled import CompiledTemplate


def compile_message(message: Mapping[str, Any], product: str) -> CompiledTemplate:
    """Return the message ready for the recipients. It has no placeholders.

    `message` has `type`, the object of that name, and perhaps `context`. Raises KeyError if it has no type.
    """
    envelope = {"messaging_product": product, "recipient_type": "individual"}
    head = f'{json.dumps(envelope, separators=(",", ":"))[:-1]},"to":"'
    tail = f'",{json.dumps(message, separators=(",", ":"))[1:-1]}'
    return CompiledTemplate(message["type"], "", (), (head, "", tail, ""))
