"""The page of a preview: one HTML file that opens offline and loads nothing."""

from base64 import b64encode
from pathlib import Path

from jinja2 import Environment, PackageLoader

from drumbeat.campaigns.preview.recipient import ChosenRecipient
from drumbeat.campaigns.template_shares import template_text
from drumbeat.engine.core.template.header_file import HEAD_BYTES, is_sendable_size, mime_type

_PICTURE = "image"


def page_of(chosen: ChosenRecipient) -> str:
    """Return the whole page. Texts of the template and of the audience are escaped."""
    environment = Environment(
        loader=PackageLoader("drumbeat.campaigns.preview", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    message = chosen.rendered()
    shows_picture = message.media is not None and message.media.kind == _PICTURE
    picture = _picture(chosen.header_file) if shows_picture and chosen.header_file is not None else None
    return environment.get_template("page.html.j2").render(
        chosen=chosen, message=message, picture=picture, template_text=template_text(chosen.template)
    )


def _picture(file: Path) -> str | None:
    """Return a picture of this machine as a data URL; None if the file is gone, or is no longer a picture."""
    try:
        if not is_sendable_size(_PICTURE, file.stat().st_size):
            return None
        content = file.read_bytes()
    except OSError:
        return None
    found = mime_type(_PICTURE, file.name, content[:HEAD_BYTES])
    return None if found is None else f"data:{found};base64,{b64encode(content).decode()}"
