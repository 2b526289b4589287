"""The time zones of phones: of the area code, else of the whole country, else none."""

from zoneinfo import ZoneInfo

import phonenumbers
import pytest
from phonenumbers import PhoneNumberFormat, PhoneNumberType, timezone
from phonenumbers.tzdata import TIMEZONE_DATA

from drumbeat.campaigns.phones.zones import RecipientZones, zones_of_country

KINDS = (PhoneNumberType.MOBILE, PhoneNumberType.FIXED_LINE, PhoneNumberType.TOLL_FREE, PhoneNumberType.VOIP)


@pytest.mark.parametrize(
    ("phone", "zones"),
    [
        ("5511987654321", {"America/Sao_Paulo"}),  # mobile numbers of Brazil have an area code
        ("5592987654321", {"America/Manaus"}),
        ("12125550101", {"America/New_York"}),
        ("12462501234", {"America/Barbados"}),  # shares +1 with the United States
        ("4930901820", {"Europe/Berlin"}),
        ("447400123456", {"Europe/London"}),
    ],
)
def test_a_phone_of_one_zone(phone: str, zones: set[str]) -> None:
    assert set((RecipientZones().of(phone) or "").split(",")) == zones


@pytest.mark.parametrize(
    ("phone", "some"),
    [
        ("18005550101", {"America/New_York", "Pacific/Honolulu"}),  # toll-free: anywhere in the country
        ("79123456789", {"Europe/Kaliningrad", "Asia/Kamchatka"}),  # a mobile number without an area
        ("61412345678", {"Australia/Perth", "Australia/Sydney"}),
    ],
)
def test_a_phone_without_an_area_has_all_zones_of_its_country(phone: str, some: set[str]) -> None:
    assert set((RecipientZones().of(phone) or "").split(",")) >= some


def test_a_phone_of_no_country_has_no_zone() -> None:
    assert RecipientZones().of("870773111632") is None  # by satellite
    assert RecipientZones().of("80012345678") is None


def test_the_library_agrees_wherever_it_knows_the_place() -> None:
    """For a number without a place it gives the zones of all countries of the calling code; we those of its own."""
    zones = RecipientZones()
    for region in sorted(phonenumbers.SUPPORTED_REGIONS):
        for number in filter(None, (phonenumbers.example_number_for_type(region, kind) for kind in KINDS)):
            phone = phonenumbers.format_number(number, PhoneNumberFormat.E164)[1:]
            found = zones.of(phone)
            if phonenumbers.is_number_geographical(number):
                assert found == ",".join(sorted(timezone.time_zones_for_geographical_number(number))), phone
            else:
                assert found == zones_of_country(phonenumbers.region_code_for_number(number)), phone
                assert found


def test_every_zone_is_in_the_tz_database() -> None:
    of_areas = {zone for zones in TIMEZONE_DATA.values() for zone in zones}
    of_countries = {
        zone
        for region in phonenumbers.SUPPORTED_REGIONS
        for zone in (zones_of_country(region) or "").split(",")
    }
    for zone in of_areas | of_countries:
        ZoneInfo(zone)
