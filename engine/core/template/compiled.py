"""A template that is compiled: a message joins its prepared pieces with what differs by recipient."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii

from drumbeat.engine.core.template.placeholder import MEDIA, Placeholder

MEDIA_FORMATS = frozenset({"IMAGE", "VIDEO", "DOCUMENT"})


@dataclass(frozen=True, slots=True)
class Media:
    """The media of a header: an uploaded `media_id`, an HTTPS `link`, or `is_variable`.

    `is_variable`: the first variable of each recipient is a link or the reference of a file. `filename` is
    the name under which a document is shown.
    """

    media_id: str | None = None
    link: str | None = None
    filename: str | None = None
    is_variable: bool = False


@dataclass(frozen=True, slots=True)
class CompiledTemplate:
    """A template ready for its variables, made by `compile_template`. `filename`: of variable media."""

    name: str
    language: str
    placeholders: tuple[Placeholder, ...]
    skeleton: tuple[str, ...]
    filename: str | None = None

    @property
    def has_variable_media(self) -> bool:
        """Return whether `payload_with_media` makes the payloads."""
        return bool(self.placeholders) and self.placeholders[0].component == MEDIA

    def payload(self, to: int | str, variables: Sequence[str], tag: str | None) -> bytes:
        """Return the JSON body of one message. `to` is digits only. `tag` is None for services without opaque
        data.

        Raises ValueError if variables and placeholders differ in number: the service would answer 132012.
        """
        if len(variables) != len(self.placeholders):
            raise ValueError(f"the template needs {len(self.placeholders)} variables, not {len(variables)}")
        pieces = list(self.skeleton)
        pieces[1] = str(to)
        pieces[3:-1:2] = map(encode_basestring_ascii, variables)
        pieces[-1] = "}" if tag is None else f',"biz_opaque_callback_data":"{tag}"}}'
        return "".join(pieces).encode("utf-8")

    def payload_with_media(
        self, sources: Mapping[str, str], to: int | str, variables: Sequence[str], tag: str | None
    ) -> bytes:
        """Return the JSON body of one message of a template whose first variable is the media of the header.

        `sources` maps the reference of a file to what `media_source` made of its id. Any other value is a
        link. The other arguments are the same as for `payload`.
        """
        media, *rest = variables
        pieces = list(self.skeleton)
        pieces[1] = str(to)
        pieces[3] = sources.get(media) or media_source(Media(link=media, filename=self.filename))
        pieces[5:-1:2] = map(encode_basestring_ascii, rest)
        pieces[-1] = "}" if tag is None else f',"biz_opaque_callback_data":"{tag}"}}'
        return "".join(pieces).encode("utf-8")


def media_source(media: Media) -> str:
    """Return the JSON of a picture, video or document in a header: its id or link, and its shown name."""
    return json.dumps(source_of(media), separators=(",", ":"))


def source_of(media: Media) -> dict[str, str]:
    """Return the picture, video or document in a header: its id or link, and its shown name."""
    source: dict[str, str] = {"id": media.media_id} if media.media_id else {"link": str(media.link)}
    return {**source, "filename": media.filename} if media.filename else source
