"""The variables of a template, and the words that name them on the command line."""

from dataclasses import dataclass

MEDIA = "media"  # component of the placeholder for a header's picture, video or document


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A variable of the template.

    `component` is media, header, body or button. `name` is the variable's name or number. For media it is
    their kind, and for a button without a URL it names what fills the button. `button` is the index of the
    button, from 0.
    """

    component: str
    name: str
    button: int | None = None

    @property
    def word(self) -> str:
        """Return the word for `WORD:COLUMN` of `param`. No name of the service has a hyphen, so none is such
        a word.
        """
        if self.button is not None:
            return f"button-{self.button}"
        if self.component == "header" and self.name.isdecimal():
            return f"header-{self.name}"
        return self.name

    def __str__(self) -> str:
        """Return where a variable is, for people: `body {{1}}`, `button 0 {{1}}`, `button 1 payload`."""
        if self.component == MEDIA:
            return f"header {self.name}"
        where = self.component if self.button is None else f"{self.component} {self.button}"
        return f"{where} {self.name if self._fills_whole else f'{{{{{self.name}}}}}'}"

    @property
    def _fills_whole(self) -> bool:
        return self.button is not None and not self.name.isdecimal()
