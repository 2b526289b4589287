"""The media of a header, as a user names them."""

from engine.core.message import Media
from engine.errors import UsageError


def header_media(media_id: str | None, link: str | None, filename: str | None) -> Media | None:
    """The media of a header, by their id or their link; None for none. UsageError if they contradict."""
    if media_id and link:
        raise UsageError(
            "the header takes one media file", remedy="give --header-media-id or --header-link, not both"
        )
    if filename and not (media_id or link):
        raise UsageError(
            "--header-filename needs a media file", remedy="give --header-media-id or --header-link as well"
        )
    return Media(media_id, link, filename) if media_id or link else None
