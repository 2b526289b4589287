"""The phone numbers of an account, read and registered, and their business profiles, read and updated."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from drumbeat.engine.api.caller import Caller
from drumbeat.engine.api.fields import object_of, text_of
from drumbeat.engine.api.paging import entries, page_entries
from drumbeat.engine.errors import UsageError

PIN_DIGITS = 6  # the interface, "Limits"
_FIELDS = "id,display_phone_number,verified_name,quality_rating,messaging_limit_tier,status,throughput"
_PROFILE_FIELDS = (
    "about,address,description,email,profile_picture_handle,profile_picture_url,vertical,websites"
)


@dataclass(frozen=True, slots=True)
class NumberRecord:
    """A phone number as the service lists it. A text is empty if the service does not send it."""

    phone_number_id: str
    display_phone_number: str
    verified_name: str
    quality_rating: str
    messaging_limit_tier: str
    status: str
    throughput_level: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The profile of the business that recipients see. A member is None if the service sends none. In an
    update, None leaves the member as it is.
    """

    about: str | None = None
    address: str | None = None
    description: str | None = None
    email: str | None = None
    profile_picture_handle: str | None = None
    vertical: str | None = None
    websites: tuple[str, ...] | None = None


class Numbers:
    """The rows `/{account}/phone_numbers`, `/{phone number ID}` and `/{phone number ID}/register`."""

    def __init__(self, caller: Caller, product: str) -> None:
        self._caller = caller
        self._product = product

    async def list(self, waba_id: str) -> AsyncIterator[NumberRecord]:
        """Yield the numbers of an account."""
        async for entry in entries(self._caller, f"{waba_id}/phone_numbers", {"fields": _FIELDS}):
            if entry.get("id"):
                yield number_record(entry)

    async def get(self, phone_number_id: str) -> NumberRecord:
        """Return one number."""
        return number_record(await self._caller.manage("GET", phone_number_id, query={"fields": _FIELDS}))

    async def register(self, phone_number_id: str, pin: str) -> None:
        """Register a number. The first PIN of six digits becomes its own; later calls must repeat it."""
        if not (pin.isascii() and pin.isdecimal() and len(pin) == PIN_DIGITS):
            raise UsageError(f"a PIN has {PIN_DIGITS} digits")
        content = {"messaging_product": self._product, "pin": pin}
        await self._caller.manage("POST", f"{phone_number_id}/register", content=content)


class Profiles:
    """The row `/{phone number ID}/{product}_business_profile`."""

    def __init__(self, caller: Caller, product: str) -> None:
        self._caller = caller
        self._product = product

    async def get(self, phone_number_id: str) -> Profile:
        """Return the profile of a number."""
        path = self._path(phone_number_id)
        answer = await self._caller.manage("GET", path, query={"fields": _PROFILE_FIELDS})
        return _profile(next(iter(page_entries(answer, path)), {}))

    async def update(self, phone_number_id: str, profile: Profile) -> None:
        """Change the members that are not None."""
        changes = {name: value for name, value in asdict(profile).items() if value is not None}
        content = {"messaging_product": self._product, **changes}
        await self._caller.manage("POST", self._path(phone_number_id), content=content)

    def _path(self, phone_number_id: str) -> str:
        return f"{phone_number_id}/{self._product}_business_profile"


def number_record(entry: Mapping[str, Any]) -> NumberRecord:
    return NumberRecord(
        phone_number_id=text_of(entry, "id"),
        display_phone_number=text_of(entry, "display_phone_number"),
        verified_name=text_of(entry, "verified_name"),
        quality_rating=text_of(entry, "quality_rating") or "UNKNOWN",
        messaging_limit_tier=text_of(entry, "messaging_limit_tier"),
        status=text_of(entry, "status"),
        throughput_level=text_of(object_of(entry, "throughput"), "level"),
    )


def _profile(entry: Mapping[str, Any]) -> Profile:
    names = ("about", "address", "description", "email", "profile_picture_handle", "vertical")
    texts = {name: text_of(entry, name) or None for name in names}
    websites = entry.get("websites")
    listed = tuple(map(str, websites)) if isinstance(websites, list) else None
    return Profile(**texts, websites=listed)
