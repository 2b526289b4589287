"""A message of each free-form type, with the type that the ledger shows."""

from drumbeat.engine.api import (
    Audio,
    Contact,
    Contacts,
    Document,
    FlowForm,
    Image,
    ListMenu,
    ListRow,
    ListSection,
    Location,
    Message,
    Reaction,
    ReplyButton,
    ReplyButtons,
    Sticker,
    Text,
    UrlButton,
    Video,
)

LINK = "https://files.example/a.jpg"
FREE_FORM: dict[str, tuple[Message, str]] = {
    "send text": (Text("Olá 👍", preview_url=True), "text"),
    "send image": (Image(link=LINK, caption="A lamp"), "image"),
    "send video": (Video(link=LINK), "video"),
    "send audio": (Audio(link=LINK), "audio"),
    "send document": (Document(link=LINK, filename="bill.pdf", caption="The bill"), "document"),
    "send sticker": (Sticker(link=LINK), "sticker"),
    "send reaction": (Reaction("wamid.x", "👍"), "reaction"),
    "send location": (Location(-23.5, -46.6, "Shop", "Rua 1"), "location"),
    "send contacts": (Contacts([Contact("Ana Souza", ["+5511987654321"])]), "contacts"),
    "send reply buttons": (
        ReplyButtons(body="Choose", buttons=[ReplyButton("y", "Yes"), ReplyButton("n", "No")], footer="F"),
        "interactive",
    ),
    "send list menu": (
        ListMenu(body="Choose", button="Show", sections=[ListSection([ListRow("1", "One", "the first")])]),
        "interactive",
    ),
    "send URL button": (
        UrlButton(body="See", display_text="Open", url=LINK, header=Image(link=LINK)),
        "interactive",
    ),
    "send flow": (FlowForm(body="Book", button="Open", token="t-1", flow_name="booking"), "interactive"),
}
