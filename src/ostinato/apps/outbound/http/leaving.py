"""The page to unsubscribe by, in the language that the recipient's browser asks for, else in that of the message.

The link says which that was: the messages that a consent has allowed may have been in several.
"""

import html
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Texts:
    """What the recipient reads."""

    button: str
    question: str
    done: str


TEXTS = {
    "fr": Texts("Se désabonner", "Ne plus recevoir ces messages ?", "Vous êtes désabonné."),
    "en": Texts("Unsubscribe", "Stop receiving these messages?", "You are unsubscribed."),
    "de": Texts("Abbestellen", "Diese Nachrichten nicht mehr erhalten?", "Sie erhalten diese Nachrichten nicht mehr."),
    "es": Texts("Darse de baja", "¿Dejar de recibir estos mensajes?", "Se ha dado de baja."),
    "it": Texts("Annulla iscrizione", "Non ricevere più questi messaggi?", "La sua iscrizione è annullata."),
    "nl": Texts("Afmelden", "Deze berichten niet meer ontvangen?", "U bent afgemeld."),
    "pt": Texts("Cancelar a subscrição", "Deixar de receber estas mensagens?", "A sua subscrição foi cancelada."),
}
DEFAULT = "fr"
LONGEST_NAME = 10
MOST_WISHES = 20
PAGE = """<!doctype html><html lang="{language}"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>{button}</title>
<form method="post" action="{action}">
<input type="hidden" name="List-Unsubscribe" value="One-Click">
<p>{question}</p><button>{button}</button></form></html>"""


def language_of(header: str, message: str = "") -> str:
    """Return the best of our languages for an Accept-Language; what comes first wins among equals.

    If it asks for none of ours, it is the language of the message that carried the link, else French.
    """
    wishes: list[tuple[float, int, str]] = []
    for place, part in enumerate(header.split(",")[:MOST_WISHES]):
        tag, _, weight = part.partition(";q=")
        language = tag.strip().partition("-")[0].lower()
        if language in TEXTS:
            wishes.append((-_weight(weight), place, language))
    wanted = sorted(each for each in wishes if each[0] < 0)
    if wanted:
        return wanted[0][2]
    written = message[:LONGEST_NAME].partition("_")[0].lower()
    return written if written in TEXTS else DEFAULT


def _weight(text: str) -> float:
    if not text:
        return 1.0
    digits = text.strip()[:5]
    return float(digits) if digits.replace(".", "", 1).isdecimal() else 0.0


def page(action: str, language: str) -> str:
    """Render the page with the button."""
    texts = TEXTS[language]
    return PAGE.format(
        language=language, action=html.escape(action, quote=True), button=texts.button, question=texts.question
    )
