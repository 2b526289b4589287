"""The messages that are a file: by the id of an upload, or by a public HTTPS link."""

from dataclasses import dataclass
from typing import Any, ClassVar

from drumbeat.engine.core.message_types.rules import given
from drumbeat.engine.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaFile:
    """A file, given by exactly one of `media_id` and `link`. The service fetches a link itself; an upload is
    more reliable.
    """

    media_id: str | None = None
    link: str | None = None
    kind: ClassVar[str]

    def content(self) -> dict[str, Any]:
        if (self.media_id is None) == (self.link is None):
            raise UsageError(f"the {self.kind} needs either the id of an uploaded file or a link")
        if self.link is not None and not self.link.startswith("https://"):
            raise UsageError(f"the link of the {self.kind} is not an HTTPS URL: {self.link}")
        return given(id=self.media_id, link=self.link)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Captioned(MediaFile):
    caption: str | None = None

    def content(self) -> dict[str, Any]:
        return {**MediaFile.content(self), **given(caption=self.caption)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Image(_Captioned):
    kind: ClassVar[str] = "image"


@dataclass(frozen=True, slots=True, kw_only=True)
class Video(_Captioned):
    kind: ClassVar[str] = "video"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document(_Captioned):
    """A document. `filename` is the name that the recipient sees."""

    filename: str | None = None
    kind: ClassVar[str] = "document"

    def content(self) -> dict[str, Any]:
        return {**_Captioned.content(self), **given(filename=self.filename)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Audio(MediaFile):
    kind: ClassVar[str] = "audio"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sticker(MediaFile):
    kind: ClassVar[str] = "sticker"
