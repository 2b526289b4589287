"""The local files in the headers of one campaign's messages: their ids at the service, which end."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from drumbeat.engine.clock import SECOND_NS
from drumbeat.engine.core.media_limits import kind_of
from drumbeat.engine.core.template.campaign_template import MakePayload, make_payloads
from drumbeat.engine.core.template.compiled import CompiledTemplate, Media, media_source
from drumbeat.engine.store.header_files import HeaderFile, Upload

# Files are uploaded again this long before their ids end: a person has two days to put a lost file back.
RENEW_BEFORE_S = 2 * 24 * 3600
# Nothing is sent with an id that ends sooner: the service's clock may differ from the database's.
LEAST_VALID_S = 600
READ_AGAIN_S = 3600  # another process may have uploaded; far more often than ids end
READ_AGAIN_WHEN_DUE_S = 10


@dataclass(slots=True)
class HeaderFiles:
    """The header files of a campaign. `payloads` has, for each number, the result of `make_payloads`.

    `problem` says why the last renewal failed.
    """

    templates: Sequence[CompiledTemplate]
    numbers: Sequence[str]
    payloads: dict[str, list[MakePayload]] = field(default_factory=dict)
    problem: str = ""
    read_again_ns: int = 0
    _first: HeaderFile | None = None  # the file whose id ends first
    _ends_ns: int = 0

    def read(self, uploads: Sequence[Upload], now_ns: int) -> None:
        """Take over what the database knows of the uploads."""
        sources: dict[str, dict[str, str]] = {number: {} for number in self.numbers}
        for upload in uploads:
            if upload.media_id is not None:
                sources[upload.phone_number_id][upload.file.reference] = self._source(upload)
        self.payloads = {number: make_payloads(self.templates, of) for number, of in sources.items()}
        listed = (upload for upload in uploads if upload.is_listed)
        first = min(listed, key=lambda upload: upload.valid_s, default=None)
        self._first = None if first is None else first.file
        self._ends_ns = now_ns + int((0 if first is None else first.valid_s) * SECOND_NS)
        wait_s = READ_AGAIN_WHEN_DUE_S if self.is_due(now_ns) else READ_AGAIN_S
        self.read_again_ns = now_ns + wait_s * SECOND_NS

    def is_due(self, now_ns: int) -> bool:
        """Return whether a file must be uploaded again."""
        return self._first is not None and self._ends_ns - now_ns < RENEW_BEFORE_S * SECOND_NS

    def blocked_reason(self, now_ns: int) -> str:
        """Return why no message may be sent now; empty if it may."""
        if self._first is None or self._ends_ns - now_ns >= LEAST_VALID_S * SECOND_NS:
            return ""
        why = self.problem or "it is being uploaded again"
        return f"the header file {self._first.path} is no longer at the service: {why}"

    def _source(self, upload: Upload) -> str:
        is_document = kind_of(upload.file.mime_type) == "document"
        shown = self.templates[0].filename or PurePath(upload.file.path).name
        return media_source(Media(media_id=upload.media_id, filename=shown if is_document else None))
