"""Compiles a free-form message for a campaign. Every recipient gets the same one."""

import json
from collections.abc import Mapping
from typing import Any

from drumbeat.engine.core.message import CompiledTemplate


def compile_message(message: Mapping[str, Any], product: str) -> CompiledTemplate:
    """`message`: `type`, the object of that name, and perhaps `context`. It has no placeholders.

    Raises KeyError if it has no type.
    """
    envelope = {"messaging_product": product, "recipient_type": "individual"}
    head = f'{json.dumps(envelope, separators=(",", ":"))[:-1]},"to":"'
    tail = f'",{json.dumps(message, separators=(",", ":"))[1:-1]}'
    return CompiledTemplate(message["type"], "", (), (head, "", tail, ""))
