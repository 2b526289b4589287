"""A mail says what happened and what to do; what the server answers decides what follows."""

import ssl
import subprocess
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from pydantic import SecretStr

from drumbeat.engine.core.notification import Attempt, Notification, NotificationEvent, Verdict
from drumbeat.engine.notifications.mail import Mail
from drumbeat.engine.process.notification_settings import MailSettings, mail_settings
from tests.kit.ports import free_port
from tests.notifications.sinks import Mailbox, mail_server
from tests.notifications.test_webhook import PAUSED

# The server of the tests warns of a login without TLS; here it is meant.
pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")

TO = "ops@example.com,boss@example.com"
PASSWORD = "p@ss w0rd"


def settings(port: int, password: str | None = None, host: str = "127.0.0.1") -> MailSettings:
    user = "" if password is None else f"me:{quote(password)}@"
    return mail_settings(TO, "drumbeat@example.com", SecretStr(f"smtp://{user}{host}:{port}"))


async def tell(port: int, *told: Notification, password: str | None = None) -> Attempt:
    return await Mail(settings(port, password)).tell(list(told or [PAUSED]))


async def test_what_a_mail_says() -> None:
    mailbox = Mailbox()
    with mail_server(mailbox) as port:
        assert await tell(port) == Attempt(Verdict.DELIVERED)
    (mail,) = mailbox.mails
    assert mailbox.recipients == [["ops@example.com", "boss@example.com"]]
    assert mail["Subject"] == "[drumbeat] campaign spring sale: paused"
    assert (mail["From"], mail["To"]) == ("drumbeat@example.com", "ops@example.com, boss@example.com")
    assert mail["Auto-Submitted"] == "auto-generated"
    assert PAUSED.public_id in mail["Message-ID"]
    assert mail.get_content().splitlines() == [
        "campaign spring sale: paused.",
        "Reason: no [31mtoken for ***4321 (authentication_failed)",
        "Time: 2026-01-02 03:04:05 UTC",
        "",
        "Set a valid access token, then lift the pause.",
        "",
        "spring sale: 10 recipients, 9 pending, 1 failed",
        "    drumbeat campaign report 'spring sale'",
        "    drumbeat campaign resume 'spring sale'",
        "",
        f"Notification: {PAUSED.public_id}",
    ]


async def test_one_mail_tells_of_all_campaigns_with_the_same_cause() -> None:
    others = [replace(PAUSED, campaign=f"campaign {n}", public_id=f"id {n}") for n in range(150)]
    mailbox = Mailbox()
    with mail_server(mailbox) as port:
        await tell(port, *others)
    (mail,) = mailbox.mails
    assert mail["Subject"] == "[drumbeat] 150 campaigns: paused"
    text = mail.get_content()
    assert "drumbeat campaign resume 'campaign 99'" in text
    assert "and 50 more: drumbeat campaign list" in text


async def test_names_of_every_script_arrive() -> None:
    mailbox = Mailbox()
    with mail_server(mailbox) as port:
        await tell(port, replace(PAUSED, campaign="Frühling 春"))
    (mail,) = mailbox.mails
    assert mail["Subject"] == "[drumbeat] campaign Frühling 春: paused"
    assert "drumbeat campaign resume 'Frühling 春'" in mail.get_content()


async def test_a_name_cannot_add_a_header() -> None:
    mailbox = Mailbox()
    with mail_server(mailbox) as port:
        await tell(port, replace(PAUSED, campaign="x\r\nBcc: everybody@example.com"))
    (mail,) = mailbox.mails
    assert mail["Bcc"] is None
    assert mailbox.recipients == [["ops@example.com", "boss@example.com"]]


@pytest.mark.parametrize("event", NotificationEvent)
async def test_every_event_makes_a_mail(event: NotificationEvent) -> None:
    mailbox = Mailbox()
    with mail_server(mailbox) as port:
        await tell(port, Notification("id", event, PAUSED.at, number="1001"))
    assert mailbox.mails[0].get_content().count("\n") > 3


async def test_the_server_gets_user_and_password() -> None:
    mailbox = Mailbox()
    with mail_server(mailbox, login=True) as port:
        assert (await tell(port, password=PASSWORD)).verdict is Verdict.DELIVERED
    assert mailbox.logins == [("me", PASSWORD)]


async def test_a_login_that_is_refused_is_named_without_the_password() -> None:
    mailbox = Mailbox()
    with mail_server(mailbox, login=True) as port:
        attempt = await tell(port, password="wr0ng word")
    assert attempt.verdict is Verdict.UNAUTHORISED
    assert attempt.problem.startswith("the server refuses user or password: 535")
    assert "wr0ng" not in attempt.problem
    assert mailbox.mails == []


async def test_some_recipients_are_refused() -> None:
    mailbox = Mailbox(refused=("boss@example.com",))
    with mail_server(mailbox) as port:
        attempt = await tell(port)
    assert attempt == Attempt(Verdict.DELIVERED, "the server refused boss@example.com")
    assert mailbox.recipients == [["ops@example.com"]]


@pytest.mark.parametrize(
    ("mailbox", "verdict", "part"),
    [
        (Mailbox(refused=("ops@example.com", "boss@example.com")), Verdict.REFUSED, "550 no such mailbox"),
        (Mailbox(answer="554 spam"), Verdict.REFUSED, "554 spam"),
        (Mailbox(answer="451 later"), Verdict.UNREACHABLE, "451 later"),
    ],
)
async def test_a_message_that_is_refused(mailbox: Mailbox, verdict: Verdict, part: str) -> None:
    with mail_server(mailbox) as port:
        attempt = await tell(port)
    assert attempt.verdict is verdict
    assert part in attempt.problem


async def test_nobody_listens() -> None:
    attempt = await tell(free_port())
    assert attempt.verdict is Verdict.UNREACHABLE
    assert attempt.problem


async def test_a_password_never_crosses_a_network_without_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is on loopback; here it counts as another machine."""
    monkeypatch.setattr("drumbeat.engine.process.notification_settings.is_loopback", lambda host: False)
    mailbox = Mailbox()
    with mail_server(mailbox, login=True) as port:
        attempt = await tell(port, password=PASSWORD)
    assert attempt.verdict is Verdict.REFUSED
    assert "STARTTLS" in attempt.problem
    assert mailbox.logins == []


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate of 127.0.0.1, with its key in the same file."""
    file = tmp_path / "server.pem"
    words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    subprocess.run(
        [*words.split(), "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", file, "-out", f"{file}.crt"],
        check=True, capture_output=True,
    )  # fmt: skip
    file.write_text(file.read_text() + Path(f"{file}.crt").read_text())
    return file


async def test_tls_is_used_when_it_is_offered_and_its_certificate_is_checked(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    mailbox = Mailbox()
    with mail_server(mailbox, tls=context) as port:
        refused = await tell(port)
        monkeypatch.setenv("SSL_CERT_FILE", f"{certificate}.crt")
        taken = await tell(port)
    assert refused.verdict is Verdict.UNREACHABLE
    assert "certificate" in refused.problem.lower()
    assert taken.verdict is Verdict.DELIVERED
    assert mailbox.encrypted == [True]
