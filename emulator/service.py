"""The service's whole state, built from a configuration and the seed, and built anew by a reset."""

from collections import Counter
from dataclasses import dataclass
from itertools import count

from emulator.account import Account
from emulator.clock import Clock
from emulator.config import EmulatorConfig, FaultConfig, NumberConfig
from emulator.errors import Refused, error_body
from emulator.events.envelope import ACCOUNT_UPDATE, QUALITY_UPDATE, Update
from emulator.events.events import Events
from emulator.events.pack import StatusPacker
from emulator.events.schedule import StatusSchedule
from emulator.events.subscriber import ALL_FIELDS, Subscriber
from emulator.faults.table import Faults
from emulator.identity import HIGH_THROUGHPUT_PER_S, STANDARD_THROUGHPUT_PER_S, Number, Token
from emulator.inbox import Inbox
from emulator.ledger import Ledger
from emulator.media import MediaItem, MediaStore, media_item
from emulator.pace import SlidingWindow
from emulator.people import People, Ratios
from emulator.send import Line
from emulator.templates.review import Reviewer
from emulator.templates.samples import sample_templates
from emulator.tokens import Tokens
from emulator.wire.message import Reply, render

NUMBER_LIMIT = 10_000
# What a number must have grown to for the upgrade of its throughput (the criterion is an open point).
HIGH_VOLUME_TIERS = ("TIER_100K", "TIER_UNLIMITED")
ACCOUNT_LIMIT = 1_000
APP_LIMIT = 1_000


@dataclass(slots=True)
class App:
    """A developer's app: its secret signs the events of its subscriber."""

    id: str
    secret: str
    subscriber: Subscriber | None = None

    def subscribe(
        self, url: str, fields: frozenset[str], retry_wait_s: float, verify_token: str = ""
    ) -> None:
        """Register a callback. What waited for a former one goes to the new."""
        if self.subscriber is None:
            self.subscriber = Subscriber(url, self.secret, retry_wait_s=retry_wait_s)
        self.subscriber.url, self.subscriber.fields = url, fields
        self.subscriber.verify_token = verify_token


class Service:
    """One messaging service: accounts, numbers, templates, customers, ledger and events."""

    def __init__(self, config: EmulatorConfig) -> None:
        self.config = config
        self.clock = Clock()
        self.callback = config.callback
        self.statuses_on = config.statuses
        self.statuses_wanted = False
        self.base_url = f"http://{config.host}:{config.port}"
        self._traces = count(1)
        self._ids = count(1_000_000_000_000_001)
        self.reset()

    def reset(self) -> None:
        """Back to the state of the start, with an empty ledger; only the clock and the callback stay."""
        config = self.config
        ratios = Ratios(config.undeliverable_ratio, config.failed_ratio, config.read_ratio)
        self.accounts: dict[str, Account] = {}
        self.apps: dict[str, App] = {}
        self.numbers: dict[str, Number] = {}
        self.lines: dict[bytes, Line] = {}
        self.errors: Counter[int] = Counter()
        self.tokens = Tokens(self.clock)
        self.people = People(config.seed, ratios)
        self.ledger = Ledger()
        self.media = MediaStore(self.clock)
        self.faults = Faults(config.seed, self.clock, self.numbers)
        self.reviewer = Reviewer(self)
        self.inbox = Inbox(self)
        self.schedule = StatusSchedule(self.people, config.status_delay)
        self.events = Events(self, StatusPacker(self))
        self._furnish()

    def _furnish(self) -> None:
        config = self.config
        self.apps[config.app_id] = App(config.app_id, config.app_secret)
        self.tokens.add(Token(config.token, app_id=config.app_id))
        self.open_account(config.waba)
        for number in config.numbers:
            self.add_number(config.waba, number)
        for fault in config.faults:
            self.faults.add(fault)
        if config.latency_ms:
            self.faults.add(FaultConfig("latency", options={"median_ms": config.latency_ms}))
        self.subscribe(self.callback)

    # --- accounts, numbers, apps

    def open_account(self, account_id: str) -> Account:
        """A business account with the sample templates, heard of by the first app."""
        if len(self.accounts) >= ACCOUNT_LIMIT:
            raise ValueError(f"at most {ACCOUNT_LIMIT} accounts")
        account = self.accounts[account_id] = Account(account_id, subscribed_apps={self.config.app_id})
        for template in sample_templates(self.new_id):
            account.book.add(template)
        self.refresh_subscribers()
        return account

    def add_number(self, account_id: str, config: NumberConfig) -> Number:
        """Register a number with an account, or replace it."""
        if len(self.numbers) >= NUMBER_LIMIT and config.id not in self.numbers:
            raise ValueError(f"at most {NUMBER_LIMIT} numbers")
        number = Number(
            id=config.id,
            account_id=account_id,
            display_phone_number=f"1555{len(self.numbers) + 1:07d}",
            window=SlidingWindow(config.rate_per_s),
        )
        if config.test_recipients is not None:
            number.test_recipients = frozenset(map(int, config.test_recipients))
        self.connect(number)
        return number

    def connect(self, number: Number) -> None:
        """Give a number its send endpoint."""
        self.numbers[number.id] = number
        target = f"/{self.config.version}/{number.id}/messages"
        self.lines[target.encode()] = Line(self, number, self.accounts[number.account_id])

    def subscribe(self, url: str | None) -> None:
        """Make `url` the first app's subscriber, for every field, not verified; None for nobody."""
        self.callback = url
        app = self.apps[self.config.app_id]
        if url is None:
            app.subscriber = None
        else:
            app.subscribe(url, ALL_FIELDS, self.config.event_retry_wait_s)
        self.refresh_subscribers()

    def refresh_subscribers(self) -> None:
        """To be called after a change of apps, subscriptions or accounts."""
        self.events.subscribers = [app.subscriber for app in self.apps.values() if app.subscriber is not None]
        # Without anyone to tell, no status is planned.
        self.statuses_wanted = self.statuses_on and bool(self.events.subscribers)
        for app in self.apps.values():
            if app.subscriber is not None:
                heard = (
                    account.id for account in self.accounts.values() if app.id in account.subscribed_apps
                )
                app.subscriber.accounts = frozenset(heard)

    def turn_statuses(self, *, on: bool) -> None:
        """Whether messages accepted from now on get statuses."""
        self.statuses_on = on
        self.refresh_subscribers()

    # --- changes that are announced

    def set_quality(self, number: Number, rating: str) -> None:
        """A new quality rating; RED costs a step of the messaging limit (open point)."""
        number.quality_rating = rating
        if rating == "RED":
            self.set_tier(number, number.tiers.lower(), "FLAGGED")
        else:
            self._tell_quality(number, "UNFLAGGED" if rating == "GREEN" else "FLAGGED")

    def set_tier(self, number: Number, word: str, event: str) -> None:
        """A new messaging limit; who earned a large one by good quality is raised to 1,000 a second too."""
        number.tiers.set(word, self.clock.now_ns())
        self._tell_quality(number, event)
        earned = event == "UPGRADE" and word in HIGH_VOLUME_TIERS and number.quality_rating == "GREEN"
        if earned and number.window.rate_per_s == STANDARD_THROUGHPUT_PER_S:
            number.window.set_rate(HIGH_THROUGHPUT_PER_S)
            self._tell_quality(number, "THROUGHPUT_UPGRADE")

    def _tell_quality(self, number: Number, event: str) -> None:
        value = {
            "display_phone_number": number.display_phone_number,
            "event": event,
            "current_limit": number.tiers.word,
        }
        self.events.tell(Update(number.account_id, None, QUALITY_UPDATE, value))

    def tell_account(self, account: Account, event: str) -> None:
        """Something happened to an account."""
        self.events.tell(Update(account.id, None, ACCOUNT_UPDATE, {"event": event}))

    # --- what several endpoints need

    def new_id(self) -> str:
        """An id for a new object."""
        return str(next(self._ids))

    def count_ids_from(self, next_id: int) -> None:
        """Go on with ids where a restored state stopped."""
        self._ids = count(next_id)

    def keep_media(self, number_id: str, mime_type: str, content: bytes) -> MediaItem:
        """Keep a file for a number; `Refused` if it cannot be."""
        item = media_item(self.new_id(), number_id, mime_type, content, self.clock.unix_s())
        self.media.add(item)
        return item

    def category(self, account: Account, template: tuple[str, str] | None) -> str:
        """What a message is charged as."""
        if template is None:
            return "service"
        found = account.book.get(*template)
        return found.category.lower() if found is not None else "utility"

    def refused(self, refused: Refused) -> bytes:
        """The reply to a broken rule, as bytes on the wire."""
        return render(self.refusal(refused))

    def refusal(self, refused: Refused) -> Reply:
        """The reply to a broken rule."""
        self.errors[refused.code] += 1
        trace = f"E{self.config.seed:X}{next(self._traces):010X}"
        return Reply(refused.status, error_body(refused, self.config.product, trace), headers=refused.headers)
