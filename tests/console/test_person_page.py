"""A person is found by any spelling of the phone."""

from urllib.parse import urlencode

from tests.console.conftest import PHONE, Caller


async def test_a_national_number_needs_its_country(manager: Caller) -> None:
    national = f"0{str(PHONE)[2:]}"
    alone = await manager.get(f"/people?{urlencode({'phone': national})}")
    assert alone.status == 422 and f'value="{national}"' in alone.text and "choose its country" in alone.text
    found = await manager.get(f"/people?{urlencode({'phone': national, 'region': 'BR'})}")
    assert (found.status, found.headers["Location"]) == (303, f"/people/{PHONE}")


async def test_a_country_that_does_not_exist_is_refused(manager: Caller) -> None:
    assert (await manager.get("/people?phone=0111&region=nowhere")).status == 422
