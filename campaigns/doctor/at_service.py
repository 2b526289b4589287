"""The checks of the service: whether it answers, and knows us."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import aiohttp

from drumbeat.campaigns.doctor.finding import Finding, Level, clock, fail, failed, ok, warn
from drumbeat.campaigns.doctor.subscription import check_subscription
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.engine.api.proxy import proxy_of
from drumbeat.engine.api.service import service_of
from drumbeat.engine.api.trust import CA_REMEDY, is_distrusted, trust_of
from drumbeat.engine.core.sanitise import sanitise
from drumbeat.engine.errors import ConfigurationError, DrumbeatError
from drumbeat.engine.process.notification_settings import is_loopback
from drumbeat.engine.process.settings import ServiceSettings, Settings
from drumbeat.engine.system_error import system_error_text

ANSWER_S_MAX = 10.0


async def check_service(settings: Settings) -> list[Finding]:
    """Check whether the service answers, accepts the token, knows the account and has the same time."""
    try:
        service, waba_id = settings.service(), settings.required("waba_id")
    except ConfigurationError as error:
        return [fail("service", error.what, error.remedy, error.exit_code)]
    reached = await guarded("service", lambda: _reach(service))
    if reached[0].level is Level.FAIL:
        return reached
    reached += _encryption(service.base_url)

    async def numbers() -> list[Finding]:
        async with service_of(service) as client:
            found = [number async for number in client.numbers.list(waba_id)]
        return [ok("token", f"valid; account {waba_id} has {pluralise(len(found), 'number')}")]

    async def subscription() -> list[Finding]:
        async with service_of(service) as client:
            return await check_subscription(client, settings, waba_id)

    tried = await guarded("token", numbers)
    if tried[0].level is Level.OK:
        tried += await guarded("subscription", subscription)
    return [*reached, *tried]


async def guarded(subject: str, check: Callable[[], Awaitable[list[Finding]]]) -> list[Finding]:
    try:
        return await check()
    except DrumbeatError as error:
        return [failed(subject, error)]
    except aiohttp.ClientHttpProxyError as error:
        refused = f"the proxy refuses the connection: {error.status} {sanitise(error.message)}"
        return [fail(subject, refused, "check DRUMBEAT_PROXY_URL", 69)]
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        remedy = CA_REMEDY if is_distrusted(error) else "check DRUMBEAT_BASE_URL and the network"
        return [fail(subject, f"does not answer: {system_error_text(error)}", remedy, 69)]


def _encryption(base_url: str) -> list[Finding]:
    """Warn of a service that is reached without TLS over a network."""
    parts = urlsplit(base_url)
    if parts.scheme == "https" or is_loopback(parts.hostname):
        return []
    found = f"{base_url} is not encrypted: the token and all recipients can be read on the way"
    return [warn("encryption", found, "use an https:// address in DRUMBEAT_BASE_URL")]


async def _reach(service: ServiceSettings) -> list[Finding]:
    timeout = aiohttp.ClientTimeout(total=ANSWER_S_MAX)
    base_url, by_way = service.base_url, proxy_of(service.proxy, service.base_url)
    async with (
        aiohttp.ClientSession(timeout=timeout, proxy=by_way.url) as session,
        session.get(
            base_url,
            ssl=trust_of(service.ca_file) or True,
            headers=by_way.request_headers,
            allow_redirects=False,
            proxy_headers=by_way.tunnel_headers,
        ) as response,
    ):
        service_time = _moment(response.headers.get("Date", ""))
    answers = ok("service", f"{base_url} answers")
    if service_time is None:
        return [answers]
    skew_s = abs((service_time - datetime.now(UTC)).total_seconds())
    return [answers, clock("clock of the service", skew_s)]


def _moment(header: str) -> datetime | None:
    """Return the time in a `Date` header; None if it is no time with a zone."""
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None
