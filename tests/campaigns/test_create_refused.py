"""A refusal names the wrong option or file, and nothing is created."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drumbeat.campaigns.audience.check.inspection import inspect_audience
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.audience.open.opening import OpenAudience
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.options.template_options import options_of_media
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.progress import PlanProgress
from drumbeat.engine.core.template.compiled import Media
from drumbeat.engine.errors import ConfigurationError, DrumbeatError, NotReady, UsageError
from drumbeat.engine.store.database import Pool
from tests.campaigns.conftest import DEFINITION, PHONE, WriteAudience
from tests.campaigns.creating import everything
from tests.kit.rows import add_template


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"template": "ordre"}, ConfigurationError, 'no template "ordre"; stored are order'),
        ({"language": "de"}, ConfigurationError, 'in "de", only in en, pt_BR'),
        ({"template": "promo"}, ConfigurationError, "promo .en. is PAUSED"),
        ({"param": ["name"]}, UsageError, r"2 placeholders.*body \{\{1\}\}, body \{\{2\}\}"),
        ({"param": ["name", "town"]}, ConfigurationError, 'no column "town"'),
        ({"phone_column": "mobile"}, ConfigurationError, 'no column "mobile"'),
        ({"number": ["1001", "77"]}, ConfigurationError, "number ID 77; known are 1001, 1002.*numbers sync"),
        ({"number": []}, UsageError, "number"),
        ({"region": "XX"}, UsageError, "XX"),
        ({"window": "9-5"}, UsageError, "window"),
        ({"time_zone": "Mars"}, UsageError, "Mars"),
        ({"on_unknown": "guess"}, UsageError, "hold, resend-silent, resend"),
        ({"max_failed": "lots"}, UsageError, "max_failed"),
        ({"expires_at": "2020-01-01T00:00Z"}, UsageError, "in the past"),
        ({"audience": Path("nobody.csv")}, NotReady, r"nobody\.csv"),
        ({"name": " "}, UsageError, "name"),
    ],
)
async def test_what_does_not_fit_is_refused_and_nothing_is_created(
    ready: str, pool: Pool, spec: CampaignSpec, change: dict[str, Any], error: type[DrumbeatError], said: str
) -> None:
    with pytest.raises(error, match=said):
        await create_campaign(ready, replace(spec, **change))

    assert set((await everything(pool)).values()) == {0}


async def test_the_list_of_rejects_never_takes_the_place_of_the_audience(
    ready: str, pool: Pool, spec: CampaignSpec
) -> None:
    before = spec.audience.read_bytes()
    with pytest.raises(UsageError, match="rejects"):
        await create_campaign(ready, replace(spec, rejects=spec.audience))
    assert spec.audience.read_bytes() == before
    assert (await everything(pool))["campaigns"] == 0


async def test_a_list_of_rejects_is_no_audience(
    ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience
) -> None:
    """Those of its rows that are duplicates would get a second message."""
    path = write_audience(f"line,code,column,reason,value\n3,duplicate,phone,twice,{PHONE}\n")
    with pytest.raises(ConfigurationError, match="a list of rejected rows"):
        await create_campaign(ready, replace(spec, audience=path, phone_column="value", param=["=x", "=y"]))
    with pytest.raises(ConfigurationError, match="a list of rejected rows"):
        inspect_audience(path, rejects_path=path.with_name("bad.csv"), rules=RowRules("value"))
    assert (await everything(pool))["campaigns"] == 0


IMAGE = Media(link="https://files.example/a.jpg")


@pytest.fixture
async def pictured(ready: str, pool: Pool) -> str:
    """As `ready`; the template `poster` has an image in its header, and `order` has not."""
    components = [{"type": "HEADER", "format": "IMAGE"}, *DEFINITION["components"]]  # type: ignore[misc]
    await add_template(pool, "poster", {**DEFINITION, "components": components})
    return ready


@pytest.mark.parametrize(
    ("template", "media", "words"),
    [
        (
            "poster",
            None,
            "poster .en. needs one image.*header_column, .*header_link or header_media_id",
        ),
        ("order", IMAGE, "order .en. has no media.*remove .* header"),
        ("poster", replace(IMAGE, filename="a.pdf"), "header_filename"),
        ("poster", Media(link="not-a-url"), "header_link 'not-a-url' is not an HTTPS URL.*https://"),
        ("poster", Media(link="http://files.example/a.jpg"), "header_link"),
        ("poster", Media(link="ftp://files.example/a"), "header_link"),
    ],
)
async def test_the_media_of_a_header_are_those_of_the_template(
    pictured: str, pool: Pool, spec: CampaignSpec, template: str, media: Media | None, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        await create_campaign(pictured, replace(spec, template=template, **options_of_media(media)))
    assert (await everything(pool))["campaigns"] == 0


async def test_another_medium_is_another_campaign_and_the_error_says_so(
    pictured: str, spec: CampaignSpec
) -> None:
    first = replace(spec, template="poster", header_media_id="77")
    await create_campaign(pictured, first)
    words = "header_link was not given and is https://files.example/a.jpg; header_media_id was 77 and is not given"
    with pytest.raises(ConfigurationError, match=words):
        await create_campaign(pictured, replace(spec, template="poster", **options_of_media(IMAGE)))


async def test_strict_refuses_the_whole_and_lists_why(
    ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience, working_directory: Path
) -> None:
    path = write_audience(f"phone,name,order\n{PHONE},Ana,1\n12,Bob,2\n")

    with pytest.raises(ConfigurationError, match=r"1 row is rejected.*audience\.rejects\.csv"):
        await create_campaign(ready, replace(spec, audience=path, strict=True))

    assert set((await everything(pool)).values()) == {0}
    assert "phone_too_short" in (working_directory / "audience.rejects.csv").read_text("utf-8-sig")


async def test_strict_accepts_duplicates(
    ready: str, spec: CampaignSpec, write_audience: WriteAudience
) -> None:
    path = write_audience(f"phone,name,order\n{PHONE},Ana,1\n{PHONE},Bob,2\n")

    assert (await create_campaign(ready, replace(spec, audience=path, strict=True))).counts.duplicates == 1


@pytest.mark.parametrize(
    ("content", "error"),
    [("phone,name,order\n", NotReady), ("phone,name,order\n12,a,b\n,,\n", ConfigurationError)],
)
async def test_nobody_to_send_to_is_refused(
    content: str,
    error: type[DrumbeatError],
    ready: str,
    pool: Pool,
    spec: CampaignSpec,
    write_audience: WriteAudience,
) -> None:
    with pytest.raises(error, match="nobody to send to"):
        await create_campaign(ready, replace(spec, audience=write_audience(content)))

    assert set((await everything(pool)).values()) == {0}


async def test_a_file_that_changes_while_it_is_read_is_refused(
    ready: str, pool: Pool, spec: CampaignSpec
) -> None:
    def append(progress: PlanProgress) -> None:
        if progress.stage == "reading":
            with spec.audience.open("a") as file:
                file.write("more\n")

    with pytest.raises(NotReady, match="changed while it was read"):
        await create_campaign(ready, spec, append)
    assert set((await everything(pool)).values()) == {0}


async def test_a_file_that_changes_before_it_is_read_is_refused(
    ready: str, pool: Pool, spec: CampaignSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a campaign would go by the content of another file than it sends to."""
    original = OpenAudience.sha256

    def hash_then_write(source: OpenAudience) -> str:
        digest = original(source)
        spec.audience.write_text(spec.audience.read_text() + f"{PHONE + 99},Eve,A\n")
        return digest

    monkeypatch.setattr(OpenAudience, "sha256", hash_then_write)
    with pytest.raises(NotReady, match="changed while it was read"):
        await create_campaign(ready, spec)
    assert set((await everything(pool)).values()) == {0}
