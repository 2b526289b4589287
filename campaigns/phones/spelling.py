"""A reader of what stands around a phone number in a cell: a label, a link, the address of a chat. What is
unambiguous is taken off, and what is no phone number gets the reason that says what it is.

Law: a word is taken off only if it is one for a phone. Others, such as "not" or "fax", may mean that the
number is the wrong one.
"""

import re
from typing import NamedTuple
from unicodedata import category, combining, normalize
from urllib.parse import parse_qs, unquote, urlsplit

USER_ID, USERNAME, EMAIL = "phone_user_id", "phone_username", "phone_email"
LINK, LABEL, LETTERS = "phone_link", "phone_label", "phone_letters"

# Words for a phone and for its place, as exports and people write them.
_PHONE_WORDS = """
    phone phones telephone tel telefon telefono telefone telefoon telefonnummer telefonnr fon fone ph p t
    number nummer nr num numero numer mobile mobil mob mobiltelefon mobilnummer mobiltel m
    handy handynummer natel cell cellular cellphone cel celular cellulare c portable gsm movil telemovel
    komorka matkapuhelin iphone android smartphone sms whatsapp whats app wa zap msisdn callto call
    work office business home private main primary personal company direct other default w h
    arbeit buro buero geschaft geschaftlich dienstlich firma zuhause privat haupt hauptnummer
    travail bureau maison domicile fixe prive trabajo oficina casa domicilio principal particular
    trabalho escritorio comercial residencial lavoro ufficio thuis werk zakelijk praca dom sluzbowy
    hjem arbete hem kontor cep ev iş тел телефон моб мобильный сот сотовый рабочий домашний
    κινητό τηλ هاتف جوال موبايل 電話 携帯 手机 电话 휴대폰 전화
"""
_CHAT = re.compile(r"\+?([0-9]{6,15})(?:[.:][0-9]+)*@(?:c\.us|s\.whatsapp\.net)", re.IGNORECASE)
_OTHER_CHAT = re.compile(r"[0-9-]+@(?:g\.us|lid|broadcast|newsletter)", re.IGNORECASE)
_USER_ID = re.compile(r"[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{11,}")
_USERNAME = re.compile(r"@[A-Za-z0-9._]+")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_CHAT_LINK = re.compile(
    r"(?:https?://)?(?:www\.|m\.)?(?:wa\.me|(?:api\.|web\.|chat\.)?whatsapp\.com)(?:[/?]|$)|whatsapp://",
    re.IGNORECASE,
)
_OTHER_LINK = re.compile(r"(?:https?://|www\.)", re.IGNORECASE)
_LINKED = re.compile(r"[+ ]*([0-9]{6,15})/?")
# A number begins at its first digit, with a plus and a bracket before it, and ends at its last digit.
_NUMBER = re.compile(
    r"(?P<before>[^0-9]*?)(?P<number>[+(]*[ +(]*[0-9](?:.*[0-9])?)(?P<after>[^0-9]*)", re.DOTALL
)
_WORD = re.compile(r"[^\W\d_]+")


class Spelling(NamedTuple):
    """The number in a cell without what stands around it. `code` is the reject code of a cell without one."""

    number: str
    code: str | None = None


def unlabelled(text: str) -> Spelling:
    """Return the number in a text with ASCII digits. A text with nothing around the number stays as it is."""
    if "@" in text and (found := _address(text)) is not None:
        return found
    if _USER_ID.fullmatch(text):
        return Spelling(text, USER_ID)
    if _CHAT_LINK.match(text):
        return _linked(text)
    if _OTHER_LINK.match(text):
        return Spelling(text, LINK)
    return _without_words(text)


def _address(text: str) -> Spelling | None:
    if (chat := _CHAT.fullmatch(text)) is not None:
        return Spelling(f"+{chat[1]}")
    if _OTHER_CHAT.fullmatch(text):
        return Spelling(text, USER_ID)
    if _USERNAME.fullmatch(text):
        return Spelling(text, USERNAME)
    return Spelling(text, EMAIL) if _EMAIL.fullmatch(text) else None


def _linked(text: str) -> Spelling:
    """Return the phone that a link to a chat names: in its query, or as its path."""
    link = urlsplit(text if "://" in text else f"https://{text}")
    named = parse_qs(link.query).get("phone", [""])[0] or unquote(link.path.strip("/"))
    found = _LINKED.fullmatch(named)
    return Spelling(text, LINK) if found is None else Spelling(f"+{found[1]}")


def _without_words(text: str) -> Spelling:
    found = _NUMBER.fullmatch(text)
    if found is None:
        return Spelling(text)
    before, after = found["before"], found["after"]
    words = [word for word in _WORD.findall(f"{before} {after}") if word.isalpha()]
    if not words and not any(category(character) == "So" for character in before + after):
        return Spelling(text)
    if all(_plain(word) in _WORDS for word in words):
        return Spelling(found["number"])
    return Spelling(found["number"], LABEL)


def digits_and_letters(text: str) -> bool:
    return any(map(str.isdigit, text)) and any(map(str.isalpha, text))


def _plain(word: str) -> str:
    """Return a word in lower case, without marks on its letters."""
    decomposed = normalize("NFKD", word.casefold())
    return "".join(character for character in decomposed if not combining(character))


_WORDS = frozenset(map(_plain, _PHONE_WORDS.split()))
