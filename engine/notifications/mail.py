"""The channel that sends notifications by mail."""

import asyncio
from email.message import EmailMessage
from email.utils import formatdate

import aiosmtplib

from drumbeat.engine.core.notification import Attempt, Channel, Notification, Verdict
from drumbeat.engine.core.sanitise import sanitise
from drumbeat.engine.notifications.text import body, subject
from drumbeat.engine.process.notification_settings import MailSettings
from drumbeat.engine.system_error import system_error_text

STEP_S_MAX = 10.0  # for one answer of the server
SESSION_S_MAX = 30.0  # for the whole session; half of the time for which a delivery is taken


class Mail:
    """A channel that puts the notifications of one cause into one mail, because people read it."""

    channel = Channel.MAIL
    combines = True

    def __init__(self, settings: MailSettings) -> None:
        self._settings = settings

    async def tell(self, told: list[Notification]) -> Attempt:
        try:
            async with asyncio.timeout(SESSION_S_MAX):
                return await self._send(_message(told, self._settings))
        except aiosmtplib.SMTPAuthenticationError as error:
            return Attempt(Verdict.UNAUTHORISED, f"the server refuses user or password: {_answer(error)}")
        except aiosmtplib.SMTPRecipientsRefused as error:
            return Attempt(Verdict.REFUSED, f"every recipient is refused: {_answer(error.recipients[0])}")
        except aiosmtplib.SMTPResponseException as error:
            # By RFC 5321, 5xx is final and 4xx is "not now".
            return Attempt(Verdict.REFUSED if error.code >= 500 else Verdict.UNREACHABLE, _answer(error))
        except (OSError, TimeoutError) as error:
            return Attempt(Verdict.UNREACHABLE, sanitise(system_error_text(error)))
        except aiosmtplib.SMTPException as error:  # the server does not offer TLS, or no login
            return Attempt(Verdict.REFUSED, sanitise(str(error)))

    async def _send(self, message: EmailMessage) -> Attempt:
        settings = self._settings
        refused, _ = await aiosmtplib.send(
            message,
            sender=settings.sender,
            recipients=settings.recipients,
            hostname=settings.host,
            port=settings.port,
            use_tls=settings.use_tls,
            # None uses TLS if the server offers it. With a password TLS is required: an attacker could remove
            # the offer.
            start_tls=False if settings.use_tls else (settings.require_tls or None),
            username=settings.user,
            password=None if settings.password is None else settings.password.get_secret_value(),
            timeout=STEP_S_MAX,
        )
        problem = f"the server refused {', '.join(refused)}" if refused else ""
        return Attempt(Verdict.DELIVERED, problem)


def _message(told: list[Notification], settings: MailSettings) -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = subject(told)
    message["From"] = settings.sender
    message["To"] = ", ".join(settings.recipients)
    message["Date"] = formatdate(usegmt=True)
    message["Message-ID"] = f"<{told[0].public_id}@{settings.sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: no automatic replies, please
    message.set_content(body(told))
    return message


def _answer(error: aiosmtplib.SMTPResponseException) -> str:
    return sanitise(f"{error.code} {error.message}")
