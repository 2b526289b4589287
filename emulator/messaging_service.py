"""The whole state of the emulated service, built from a configuration and its seed, and anew by a reset."""

from collections import Counter
from collections.abc import Iterable
from itertools import count

from drumbeat.emulator.account import Account
from drumbeat.emulator.clock import Clock
from drumbeat.emulator.config import EmulatorConfig, FaultConfig, NumberConfig
from drumbeat.emulator.deliveries import Deliveries
from drumbeat.emulator.events.events import Events
from drumbeat.emulator.events.packer import Packer
from drumbeat.emulator.events.subscriptions import Subscriptions
from drumbeat.emulator.faults.happenings import Accepted, Happening
from drumbeat.emulator.faults.table import Faults
from drumbeat.emulator.happenings import Happenings
from drumbeat.emulator.identity import Number, Token
from drumbeat.emulator.ids import Ids
from drumbeat.emulator.incoming import IncomingMessages
from drumbeat.emulator.ledger.ledger import Ledger
from drumbeat.emulator.media import MediaStore
from drumbeat.emulator.pace import SlidingWindow
from drumbeat.emulator.people import People, Ratios
from drumbeat.emulator.refusals import Refusals
from drumbeat.emulator.reviewer import Reviewer
from drumbeat.emulator.schedule import StatusSchedule
from drumbeat.emulator.send import SendContext, SendEndpoint
from drumbeat.emulator.standing import Standing
from drumbeat.emulator.templates.samples import sample_templates
from drumbeat.emulator.tiers import LOWEST
from drumbeat.emulator.tokens import Tokens

NUMBER_LIMIT = 10_000
ACCOUNT_LIMIT = 1_000


class MessagingService:
    """The service: accounts, numbers, templates, customers, ledger and events.

    `send_endpoints` are by request target. The parts get what they need of each other, never this object.
    """

    def __init__(self, config: EmulatorConfig) -> None:
        self.config = config
        self.clock = Clock()
        self.base_url = f"http://{config.host}:{config.port}"
        self.ids = Ids()
        self._traces = count(1)
        self._begin(config.callback, statuses_on=config.statuses)

    def reset(self) -> None:
        """Return to the state of the start, with an empty ledger.

        Clock, ids and callback stay, and so does the choice of statuses on or off. Every part is a new
        object, so a caller that kept the former ones can put them back.
        """
        self._begin(self.subscriptions.callback, statuses_on=self.subscriptions.statuses_on)

    def _begin(self, callback: str | None, *, statuses_on: bool) -> None:
        self.accounts: dict[str, Account] = {}
        self.numbers: dict[str, Number] = {}
        self.send_endpoints: dict[bytes, SendEndpoint] = {}
        self.errors: Counter[int] = Counter()
        self._make_parts()
        self._furnish()
        self.subscriptions.statuses_on = statuses_on
        self.subscriptions.set_callback(callback)

    def _make_parts(self) -> None:
        config, clock = self.config, self.clock
        self.ids = Ids(self.ids.following)
        self.refusals = Refusals(config, self.errors, self._traces)
        self.tokens = Tokens(clock)
        self.people = People(
            config.seed, Ratios(config.undeliverable_ratio, config.failed_ratio, config.read_ratio)
        )
        self.ledger = Ledger()
        self.media = MediaStore(clock, self.ids)
        self.faults = Faults(config.seed, clock, self.numbers)
        self.schedule = StatusSchedule(self.people, config.status_delay)
        self.deliveries = Deliveries(clock, self.ledger, self.schedule)
        self.events = Events(
            clock, self.ledger, self.schedule, self.deliveries, self.faults, self.numbers, self.accounts
        )
        self.packer = Packer(
            config, clock, self.ledger, self.numbers, self.accounts, people=self.people, faults=self.faults
        )
        self.standing = Standing(clock, self.events.announce)
        self.reviewer = Reviewer(clock, config.review_delay_s, self.accounts, self.events.announce)
        self.incoming = IncomingMessages(clock, self.ids, self.people, self.events.announce)
        self.subscriptions = Subscriptions(config, self.accounts, self.events, self.deliveries)

    def _furnish(self) -> None:
        config = self.config
        self.tokens.add(Token(config.token, app_id=config.app_id))
        self.open_account(config.waba)
        for number in config.numbers:
            self.add_number(config.waba, number)
        for fault in config.faults:
            self.faults.add(fault)
        if config.latency_ms:
            spread = {"median_ms": config.latency_ms, "sigma": config.jitter}
            self.faults.add(FaultConfig("latency", options=spread))

    def open_account(self, account_id: str) -> Account:
        """Open a business account with the sample templates. The first app gets its events."""
        if len(self.accounts) >= ACCOUNT_LIMIT:
            raise ValueError(f"at most {ACCOUNT_LIMIT} accounts")
        account = self.accounts[account_id] = Account(account_id, subscribed_apps={self.config.app_id})
        for template in sample_templates(self.ids.new):
            account.book.add(template)
        self.subscriptions.refresh()
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
        if config.tier != number.tiers.word:
            number.tiers.set(config.tier, self.clock.now_ns())
        if not self.accounts[account_id].verified:
            number.tiers.set(LOWEST, self.clock.now_ns())
        self.connect(number)
        return number

    def connect(self, number: Number) -> None:
        """Give a number its send endpoint. With quota scope `account`, it shares the limit of the others."""
        if self.config.quota_scope == "account":
            others = (other for other in self.numbers.values() if other.account_id == number.account_id)
            number.tiers = next(others, number).tiers
        self.numbers[number.id] = number
        context = SendContext(
            product=self.config.product,
            clock=self.clock,
            tokens=self.tokens,
            people=self.people,
            media=self.media,
            ledger=self.ledger,
            schedule=self.schedule,
            incoming=self.incoming,
            standing=self.standing,
            refusals=self.refusals,
        )
        target = f"/{self.config.version}/{number.id}/messages"
        account = self.accounts[number.account_id]
        self.send_endpoints[target.encode()] = SendEndpoint(context, number, account)

    def let_happen(self, happenings: Iterable[Happening], index: int) -> None:
        """Let happen what faults ask for after the message at an index of the ledger."""
        world = Happenings(
            accounts=self.accounts,
            people=self.people,
            incoming=self.incoming,
            reviewer=self.reviewer,
            standing=self.standing,
            announce=self.events.announce,
            subscriptions=self.subscriptions,
        )
        kind, recipient = self.ledger.kind(index), self.ledger.recipient(index)
        accepted = Accepted(
            self.numbers[kind.number_id], recipient, self.ledger.wamid(index), kind.template_key
        )
        for happening in happenings:
            happening(world, accepted)

    def do_what_is_due(self) -> None:
        """Do the reviews and queue the statuses whose time has come."""
        self.reviewer.review_due(self.clock.now_ns())
        self.events.move_due()
