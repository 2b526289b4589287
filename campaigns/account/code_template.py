"""A template for one-time codes. The service writes its text, in the language of the template.

Its shape is an open point of the interface: the one that services of this family publish.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from drumbeat.engine.core.template.rendering import RenderedButton, RenderedMessage

EXPIRES_MAX_MIN = 90  # the limit of the service
# The texts that the service writes in English.
_TEXT = "*123456* is your verification code."
_WARNING = " For your security, do not share this code."


@dataclass(frozen=True, slots=True)
class CodeForm:
    """The fields as they were typed. `warns` says that the message warns not to share the code. `expires_min`
    is how long the code is valid, as the message says it; empty if it says nothing. `button` is the label of
    the button that copies the code.
    """

    warns: bool = True
    expires_min: str = ""
    button: str = ""

    def errors(self) -> dict[str, str]:
        is_valid = self.expires_min in map(str, range(1, EXPIRES_MAX_MIN + 1))
        return {
            "expires_min": "" if not self.expires_min or is_valid else "expires_min",
            "code_button": "" if self.button else "code_button",
        }

    def components(self) -> list[dict[str, Any]]:
        """Return the components in the form that the service takes. The form must have no errors."""
        found: list[dict[str, Any]] = [{"type": "BODY", "add_security_recommendation": self.warns}]
        if self.expires_min:
            found.append({"type": "FOOTER", "code_expiration_minutes": int(self.expires_min)})
        button = {"type": "OTP", "otp_type": "COPY_CODE", "text": self.button}
        return [*found, {"type": "BUTTONS", "buttons": [button]}]

    def preview(self) -> RenderedMessage:
        footer = f"This code expires in {self.expires_min} minutes." if self.expires_min else ""
        buttons = (RenderedButton("OTP", self.button),) if self.button else ()
        return RenderedMessage(body=_TEXT + _WARNING * self.warns, footer=footer, buttons=buttons)
