"""The limits of files: the size of each kind, and the life of an upload (the interface, "Limits")."""

from drumbeat.engine.errors import UsageError

MEGABYTE = 1024 * 1024
BYTES_MAX = {
    "image": 5 * MEGABYTE,
    "video": 16 * MEGABYTE,
    "audio": 16 * MEGABYTE,
    "document": 100 * MEGABYTE,
    "sticker": 500 * 1024,
}
REUSE_DAYS = 30
REUSE_S = REUSE_DAYS * 24 * 3600
STICKER_TYPE = "image/webp"


def kind_of(mime_type: str) -> str:
    """Return the kind as which a file of this type is sent: image, video, audio, sticker, else document."""
    plain = mime_type.partition(";")[0].strip().lower()
    family = plain.partition("/")[0]
    if plain == STICKER_TYPE:
        return "sticker"
    return family if family in ("image", "video", "audio") else "document"


def check_file(name: str, mime_type: str, size_bytes: int) -> None:
    """Raise UsageError if the service would refuse a file of this type and size."""
    if "/" not in mime_type:
        raise UsageError(f"{mime_type!r} is not a MIME type such as image/jpeg")
    kind = kind_of(mime_type)
    if size_bytes == 0:
        raise UsageError(f"{name} is empty")
    if size_bytes > BYTES_MAX[kind]:
        raise UsageError(
            f"{name} has {size_bytes:,} bytes; a {kind} ({mime_type}) may have {BYTES_MAX[kind]:,}",
            remedy="make it smaller" if kind == "document" else "make it smaller, or upload it as a document",
        )
