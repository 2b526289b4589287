"""A run starts only if the service answers, and explains its end: exit code 3 always has a reason."""

import pytest
from pydantic import SecretStr

from drumbeat.campaigns.life.run import RunResult, require_reachable, shortfall
from drumbeat.campaigns.results.status import CampaignStatus
from drumbeat.engine.core.states import CampaignState, ReasonCode, RecipientState
from drumbeat.engine.errors import AuthenticationError, DrumbeatError, Incomplete, TryLater, Unreachable
from drumbeat.engine.process.settings import ServiceSettings
from tests.api.loopback import Conversation, Server, serving
from tests.kit.ports import free_port


def ended(
    state: CampaignState = CampaignState.FINISHED,
    reason: str = "",
    code: ReasonCode | None = None,
    **counts: int,
) -> CampaignStatus:
    """A campaign of 1,500 named `x y`."""
    found = {each: counts.get(each.value, 0) for each in RecipientState}
    found[RecipientState.DELIVERED] = 1500 - sum(counts.values())
    return CampaignStatus("x y", state, reason, code, 1500, found, None, None, None, ())


@pytest.mark.parametrize(
    ("status", "max_failed", "words"),
    [
        (ended(), "0", ""),
        (ended(failed=290), None, ""),
        (ended(failed=75), "5%", ""),
        (ended(failed=290), "5%", "290 of 1,500 failed (19.3 %), more than the limit of 5%"),
        (ended(failed=2), "1", "2 of 1,500 failed (0.1 %), more than the limit of 1"),
        (ended(unknown=1200), None, "1,200 in doubt: see `drumbeat campaign settle 'x y'`"),
        (
            ended(CampaignState.CANCELLED, "cancelled by hand", skipped=1490),
            None,
            "cancelled (cancelled by hand): 1,490 of 1,500 skipped",
        ),
        (ended(CampaignState.EXPIRED, skipped=3), None, "expired: 3 of 1,500 skipped"),
    ],
)
def test_what_an_end_lacks(status: CampaignStatus, max_failed: str | None, words: str) -> None:
    assert shortfall(status, max_failed) == words


@pytest.mark.parametrize(
    ("end", "error", "words"),
    [
        (RunResult(ended(unknown=1), False, "1 in doubt"), Incomplete, "1 in doubt"),
        (
            RunResult(ended(CampaignState.PAUSED, "by hand", ReasonCode.PAUSED_BY_HAND), False, "1 in doubt"),
            TryLater,
            "paused: by hand",
        ),
        (
            RunResult(ended(CampaignState.PAUSED, "expired", ReasonCode.AUTHENTICATION_FAILED), False, ""),
            AuthenticationError,
            "token",
        ),
        (
            RunResult(ended(CampaignState.PAUSED, "no words (190)", ReasonCode.ACCOUNT_REFUSED), False, ""),
            TryLater,
            "lift the pause",
        ),
    ],
)
def test_an_end_that_lacks_something_is_an_error(
    end: RunResult, error: type[DrumbeatError], words: str
) -> None:
    with pytest.raises(error, match=words):
        end.require_complete()


@pytest.mark.parametrize(
    "end", [RunResult(ended(), False, ""), RunResult(ended(CampaignState.PAUSED, "by hand"), True, "")]
)
def test_a_whole_end_and_one_that_was_asked_for_are_none(end: RunResult) -> None:
    end.require_complete()


def service(port: int, proxy: str | None = None) -> ServiceSettings:
    proxy_url = None if proxy is None else SecretStr(proxy)
    return ServiceSettings(f"http://127.0.0.1:{port}", SecretStr("t"), proxy_url=proxy_url)


async def silent(server: Server, conversation: Conversation) -> None:
    await conversation.closed_by_client()


async def test_the_service_is_reached_by_its_proxy_alone() -> None:
    async with serving(silent) as proxy:
        await require_reachable(service(free_port(), proxy.base_url))


async def test_who_does_not_answer_is_named_without_a_password() -> None:
    nobody = free_port()
    with pytest.raises(Unreachable, match=f"service does not answer.*{nobody}.*BASE_URL"):
        await require_reachable(service(nobody))
    with pytest.raises(Unreachable, match=f"proxy does not answer.*127.0.0.1:{nobody}.*PROXY_URL") as told:
        await require_reachable(service(nobody, f"http://me:s3cret@127.0.0.1:{nobody}"))
    assert "s3cret" not in str(told.value)
