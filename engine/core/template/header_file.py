"""The local files that the header of a template may show.

The interface names only the sizes. The types are those that services of this family publish (open point). A
picture or a video is recognised by its content, a document by the end of its name.
"""

from drumbeat.engine.core.media_limits import BYTES_MAX

HEAD_BYTES = 12  # enough for every signature below
_PICTURES = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG\r\n\x1a\n": "image/png"}
_VIDEO = b"ftyp"  # at offset 4; the brand follows
_VIDEO_3GPP = b"3g"
_OFFICE = "application/vnd.openxmlformats-officedocument"
_DOCUMENTS = {
    "pdf": "application/pdf",
    "txt": "text/plain",
    "doc": "application/msword",
    "docx": f"{_OFFICE}.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": f"{_OFFICE}.spreadsheetml.sheet",
    "ppt": "application/vnd.ms-powerpoint",
    "pptx": f"{_OFFICE}.presentationml.presentation",
}


# The types that a header of each kind can show.
TYPES = {
    "image": frozenset(_PICTURES.values()),
    "video": frozenset({"video/mp4", "video/3gpp"}),
    "document": frozenset(_DOCUMENTS.values()),
}


def mime_type(kind: str, name: str, head: bytes) -> str | None:
    """Return the MIME type of a file that a header of this kind can show; None if the header cannot show it.

    `head` is the first HEAD_BYTES of the file.
    """
    if kind == "document":
        return _DOCUMENTS.get(name.rpartition(".")[2].lower())
    if kind == "video":
        if head[4:8] != _VIDEO:
            return None
        return "video/3gpp" if head[8:10] == _VIDEO_3GPP else "video/mp4"
    return next((found for signature, found in _PICTURES.items() if head.startswith(signature)), None)


def is_sendable_size(kind: str, size_bytes: int) -> bool:
    return 0 < size_bytes <= BYTES_MAX[kind]
