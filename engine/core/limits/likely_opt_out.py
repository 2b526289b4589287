"""The messages that probably ask for no more messages, in other words than those that count.

Law: nobody is suppressed by this. A person looks at the message and decides: "please don't stop" and irony
look alike to a table.
"""

from drumbeat.engine.core.limits.opt_out import normalised

CHARACTERS_MAX = 300  # a longer text is a letter about something else
# Normalised, as `normalised` makes them: no case, no accents, no punctuation. A message that has one of them
# as whole words is shown.
PHRASES = (
    # English
    "no more messages", "stop messaging", "stop texting", "stop sending", "stop writing", "stop spamming",
    "stop contacting", "do not message", "dont message", "don t message", "do not contact", "dont contact",
    "don t contact", "do not text", "don t text", "dont text", "do not write", "don t write", "dont write",
    "do not send", "don t send", "dont send", "leave me alone", "remove me", "take me off",
    "delete my number",
    "remove my number", "unsubscribe", "opt out", "opt me out", "not interested", "wrong number", "spam",
    # German
    "nicht mehr schreiben", "keine nachrichten mehr", "keine nachricht mehr", "keine weiteren nachrichten",
    "keine werbung", "nicht mehr anschreiben", "nicht mehr kontaktieren", "schreiben sie mir nicht",
    "schreibt mir nicht", "schreib mir nicht", "lasst mich in ruhe", "lass mich in ruhe",
    "lassen sie mich in ruhe", "nummer loschen", "loschen sie meine", "loscht meine",
    "abmelden", "abbestellen",
    "kein interesse", "falsche nummer", "hort auf", "horen sie auf", "nerven sie nicht",
    # Portuguese
    "nao quero mais", "nao quero receber", "nao me mande", "nao mande mais", "nao envie", "pare de enviar",
    "parem de enviar", "pare de mandar", "parem de mandar", "para de mandar", "me tire da lista",
    "me tira da lista", "remova meu", "remover meu", "tire meu numero", "descadastrar", "cancelar inscricao",
    "me deixe em paz", "me deixa em paz", "numero errado", "nao tenho interesse", "sair da lista",
    # Spanish
    "no quiero mas", "no quiero recibir", "no me escriban", "no me escriba", "no me manden", "no me mande",
    "no me envien", "no envien mas", "dejen de enviar", "deje de enviar", "dejen de escribir",
    "deje de escribir", "dejen de molestar", "deje de molestar", "no molesten", "no molestar",
    "denme de baja", "darme de baja", "deme de baja", "borren mi numero", "borrar mi numero",
    "dejenme en paz", "dejame en paz", "numero equivocado", "no me interesa",
    # French
    "plus de messages", "ne m ecrivez plus", "ne m envoyez plus", "n envoyez plus", "arretez de m ecrire",
    "arretez de m envoyer", "arretez d envoyer", "arretez vos messages", "arretez les messages",
    "ne plus recevoir", "desabonner", "desabonnez moi", "desinscrire", "desinscrivez moi",
    "laissez moi tranquille", "supprimez mon numero", "pas interesse", "mauvais numero",
    # Italian
    "non scrivetemi", "non mi scrivete", "non inviate piu", "non mandate piu", "basta messaggi",
    "basta con i messaggi", "smettete di", "smettetela", "non voglio piu", "cancellatemi",
    "cancellate il mio", "disiscrivermi", "lasciatemi in pace", "numero sbagliato", "non sono interessato",
    "non sono interessata",
    # Dutch, Polish, Turkish, Indonesian
    "geen berichten meer", "niet meer berichten", "stuur niet meer", "laat me met rust", "uitschrijven",
    "afmelden", "verkeerd nummer", "geen interesse", "prosze nie pisac", "nie piszcie", "nie wysylajcie",
    "wypisz mnie", "usuncie moj numer", "zly numer", "mesaj gondermeyin", "mesaj atmayin",
    "mesaj istemiyorum",
    "beni rahat birakin", "yanlis numara", "jangan kirim", "berhenti kirim", "hapus nomor", "salah nomor",
)  # fmt: skip
_PADDED = tuple(f" {phrase} " for phrase in PHRASES)


def is_likely_opt_out(text: str) -> bool:
    """Return whether a text probably asks for no more messages."""
    if not text or len(text) > CHARACTERS_MAX:
        return False
    padded = f" {_plain(text)} "
    return any(phrase in padded for phrase in _PADDED)


def _plain(text: str) -> str:
    # These letters have no accent that could be taken away, and are written with and without.
    return normalised(text).translate({ord("ł"): "l", ord("ı"): "i", ord("ß"): "ss"})
