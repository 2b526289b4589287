"""The page of a preview: one HTML file that opens offline and loads nothing."""

from jinja2 import Environment, PackageLoader

from campaigns.preview.recipient import ChosenRecipient
from campaigns.template_shares import template_text


def page_of(chosen: ChosenRecipient) -> str:
    """The whole page. Texts of the template and of the audience are escaped."""
    environment = Environment(
        loader=PackageLoader("campaigns.preview", "."), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("page.html.j2").render(
        chosen=chosen, message=chosen.rendered(), template_text=template_text(chosen.template)
    )
