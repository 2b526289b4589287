"""The message types of the service as values, each with the JSON content that a request carries.

Law: a value that breaks a rule of the interface raises UsageError when its content is made, so nothing of it
is sent. Shapes that the interface does not show are open points.
"""

from drumbeat.engine.core.message_types.interactive import (
    FlowForm,
    ListMenu,
    ListRow,
    ListSection,
    ReplyButton,
    ReplyButtons,
    UrlButton,
)
from drumbeat.engine.core.message_types.media import Audio, Document, Image, Sticker, Video
from drumbeat.engine.core.message_types.plain import Contact, Contacts, Location, Reaction, Text
from drumbeat.engine.core.message_types.request import FREE_FORM_TYPES, Message, read_request, send_request
from drumbeat.engine.core.message_types.template import (
    CatalogItem,
    CouponCode,
    FlowToken,
    QuickReply,
    TemplateMessage,
    UrlSuffix,
)

__all__ = [
    "FREE_FORM_TYPES",
    "Audio",
    "CatalogItem",
    "Contact",
    "Contacts",
    "CouponCode",
    "Document",
    "FlowForm",
    "FlowToken",
    "Image",
    "ListMenu",
    "ListRow",
    "ListSection",
    "Location",
    "Message",
    "QuickReply",
    "Reaction",
    "ReplyButton",
    "ReplyButtons",
    "Sticker",
    "TemplateMessage",
    "Text",
    "UrlButton",
    "UrlSuffix",
    "Video",
    "read_request",
    "send_request",
]
