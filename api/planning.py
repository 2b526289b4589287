"""The methods that plan campaigns, change them, and show what they will send."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Unpack

from drumbeat.api.audiences import changes_of, spec_of, without_rows
from drumbeat.api.installation import Installation, reported
from drumbeat.api.options import CampaignChanges, ManifestChanges, NewCampaign, given
from drumbeat.campaigns.actor import actor
from drumbeat.campaigns.changing.apply import apply_campaign
from drumbeat.campaigns.changing.delete import DeletedCampaign, delete_campaign
from drumbeat.campaigns.changing.derived import cloned, edit_campaign
from drumbeat.campaigns.changing.retry import RetryOptions, plan_retry
from drumbeat.campaigns.options.manifest_file import read_manifest
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.options.stored import stored_options
from drumbeat.campaigns.options.values import of_file
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.planning.created import CreatedCampaign
from drumbeat.campaigns.planning.header_uploads import uploads_with
from drumbeat.campaigns.preview.plan import CampaignPlan, plan_of
from drumbeat.campaigns.preview.recipient import Choice, choose_recipient
from drumbeat.campaigns.prices import read_prices
from drumbeat.engine.core.template.rendering import RenderedMessage
from drumbeat.engine.errors import UsageError


@dataclass(frozen=True, slots=True)
class Preview:
    """A message as its reader will see it. `phone` is in digits of E.164, `row` that of the audience.

    `skip_reason` says why nothing is sent to this recipient, or is None.
    """

    campaign: str
    template: str
    language: str
    variant: str
    phone: str
    row: int
    skip_reason: str | None
    message: RenderedMessage


class Planning(Installation):
    """The methods before anything is sent."""

    __slots__ = ()

    @reported
    async def create(self, *, dry_run: bool = False, **options: Unpack[NewCampaign]) -> CreatedCampaign:
        """Plan a campaign, as `campaign create` does. The same call again changes nothing.

        Rows given as `audience` are named by their index, from 0; `audience.rejected_rows` has the first
        1,000 of those that cannot be sent to. An iterator is read once.
        """
        return await self._create(spec_of(options), dry_run=dry_run)

    @reported
    async def check(self, **options: Unpack[NewCampaign]) -> CreatedCampaign:
        """Check a campaign and store nothing: counts, rejects, findings and the first messages."""
        return await self._create(spec_of(options), dry_run=True)

    @reported
    async def apply(
        self,
        manifest: Path | str,
        *,
        dry_run: bool = False,
        now: bool = False,
        keep_audience: bool = True,
        **changes: Unpack[ManifestChanges],
    ) -> CreatedCampaign:
        """Plan or change a campaign as a manifest says, as `campaign apply` does. `changes` replace its keys.

        Raise ChangeRefused, which holds the differences, if one of them may not change now.
        """
        path = Path(manifest)
        plain, rows = without_rows(changes)
        keys = given(plain)
        try:
            spec = CampaignSpec(**read_manifest(path, keys), read_from=rows).with_rows(rows)
            return await apply_campaign(
                self.url,
                spec,
                change_by=actor(),
                disk=self.settings.disk(),
                dry_run=dry_run,
                open_uploads=uploads_with(self.settings),
                now=now,
                keep_audience=keep_audience,
            )
        except UsageError as error:
            raise of_file(error, str(path)) from error

    @reported
    async def clone(
        self,
        name: str,
        new: str,
        *,
        unset: Iterable[str] = (),
        dry_run: bool = False,
        **changes: Unpack[CampaignChanges],
    ) -> CreatedCampaign:
        """Plan a campaign `new` with the options of another one, as `campaign clone` does."""
        plain, rows = changes_of(changes)
        spec = await cloned(self.pool, name, new, plain, unset)
        return await self._create(spec.with_rows(rows), dry_run=dry_run)

    @reported
    async def edit(
        self,
        name: str,
        *,
        unset: Iterable[str] = (),
        dry_run: bool = False,
        now: bool = False,
        **changes: Unpack[CampaignChanges],
    ) -> CreatedCampaign:
        """Change a campaign, as `campaign edit` does. Raise ChangeRefused if something may not change now."""
        plain, rows = changes_of(changes)
        return await edit_campaign(
            self.url,
            await stored_options(self.pool, name),
            plain,
            unset,
            rows=rows,
            change_by=actor(),
            disk=self.settings.disk(),
            dry_run=dry_run,
            open_uploads=uploads_with(self.settings),
            now=now,
        )

    @reported
    async def delete(self, name: str) -> DeletedCampaign:
        """Delete a campaign that was never started, as `campaign delete` does, without a question."""
        return await delete_campaign(self.url, name, actor=actor())

    @reported
    async def retry(
        self,
        name: str,
        *,
        codes: Sequence[int] = (),
        all_codes: bool = False,
        new: str | None = None,
        start_at: datetime | None = None,
        expires_at: datetime | None = None,
        dry_run: bool = False,
    ) -> CreatedCampaign:
        """Plan a campaign of those whom another one did not reach, as `campaign retry --failed` does.

        `new` is its name, else NAME/retry-1. Raise UsageError if both `codes` and `all_codes` are given.
        """
        if codes and all_codes:
            raise UsageError("codes and all_codes contradict each other", remedy="give one of them")
        times = given({"start_at": start_at, "expires_at": expires_at})
        return await plan_retry(
            self.url,
            name,
            RetryOptions(tuple(codes), new, **times, all_codes=all_codes),
            disk=self.settings.disk(),
            dry_run=dry_run,
            open_uploads=uploads_with(self.settings),
        )

    @reported
    async def preview(self, name: str, *, row: int | None = None, phone: str | None = None) -> Preview:
        """Return the message of one recipient as it will be read: by row, by phone, or of the first one."""
        chosen = await choose_recipient(self.pool, name, Choice(row, phone))
        template = chosen.template
        return Preview(
            campaign=chosen.campaign,
            template=template.name,
            language=template.language,
            variant=template.variant,
            phone=str(chosen.phone),
            row=chosen.row,
            skip_reason=chosen.skip_reason,
            message=chosen.rendered(),
        )

    @reported
    async def plan(self, name: str, *, prices: Path | str | None = None) -> CampaignPlan:
        """Return who will get the message, by which number, when and at what cost, as `campaign plan` does.

        `prices` is a file with a table of prices; without one, that of the settings counts.
        """
        file = prices or self.settings.prices
        table = None if file is None else read_prices(Path(file))
        return await plan_of(self.pool, name, table, datetime.now(UTC), self.settings.quota_scope)

    async def _create(self, spec: CampaignSpec, *, dry_run: bool) -> CreatedCampaign:
        return await create_campaign(
            self.url,
            spec,
            disk=self.settings.disk(),
            dry_run=dry_run,
            open_uploads=uploads_with(self.settings),
        )
