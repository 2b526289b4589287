"""Messages that probably ask for no more messages are found in other words than those that count."""

import pytest

from drumbeat.engine.core.limits.likely_opt_out import CHARACTERS_MAX, PHRASES, is_likely_opt_out
from drumbeat.engine.core.limits.opt_out import normalised

ASKS = [
    "Please no more messages",
    "Please, STOP sending me these!!",
    "Don't message me again",
    "Don’t text me",
    "take me off your list",
    "Bitte nicht mehr schreiben",
    "Bitte keine Nachrichten mehr!",
    "Löschen Sie meine Nummer",
    "Lasst mich in Ruhe.",
    "Não quero mais receber isso",
    "NAO ME MANDE MAIS NADA",
    "me tira da lista por favor",
    "No me escriban más",
    "Por favor, dejen de molestar",
    "Arrêtez de m’envoyer des messages",
    "laissez-moi tranquille",
    "Basta messaggi, grazie",
    "Geen berichten meer aub",
    "Proszę nie pisać więcej",
    "Usuńcie mój numer",
    "Yanlış numara",
    "jangan kirim lagi",
    "Sorry, wrong number",
]
OTHER = [
    "",
    "Thanks!",
    "When do you open?",
    "Please don't stop",
    "I can't stop laughing",
    "more messages please",
    "Danke, ich melde mich",
    "Obrigado, quero sim",
    "Me interesa",
    "Oui, merci",
    "the number is 12",
    "spammy",
]


@pytest.mark.parametrize("text", ASKS)
def test_who_asks_for_no_more_is_shown(text: str) -> None:
    assert is_likely_opt_out(text)


@pytest.mark.parametrize("text", OTHER)
def test_who_asks_for_something_else_is_not(text: str) -> None:
    assert not is_likely_opt_out(text)


def test_a_letter_is_not_looked_through() -> None:
    assert not is_likely_opt_out("no more messages " + "x" * CHARACTERS_MAX)


def test_each_phrase_is_written_as_it_is_compared() -> None:
    assert [phrase for phrase in PHRASES if normalised(phrase) != phrase] == []
    assert len(set(PHRASES)) == len(PHRASES)
