"""Reads what an inbound text asks for: STOP and its kin (rule 5, STOP)."""

import re
import unicodedata
from enum import StrEnum
from typing import Final

_STOP_ALL: Final = frozenset({"STOPALL", "STOPTOUT"})
_STOP: Final = _STOP_ALL | {
    *("STOP", "ARRET", "ARRETER", "ARRETEZ", "DESABONNER", "DESABONNEZMOI", "DESINSCRIRE", "DESINSCRIPTION"),
    *("UNSUBSCRIBE", "CANCEL", "END", "QUIT", "REVOKE", "OPTOUT"),
}
_START: Final = frozenset({"START", "UNSTOP", "OUI"})
_HELP: Final = frozenset({"HELP", "AIDE", "INFO"})
_MARKS = re.compile(r"[^A-Z0-9 ]+")


class Asked(StrEnum):
    """What somebody asks for by one word."""

    STOP = "STOP"
    STOP_ALL = "STOP_ALL"
    START = "START"
    HELP = "HELP"


def plain(text: str) -> str:
    """Return the text without accents, marks and case, its words apart by one space."""
    letters = unicodedata.normalize("NFKD", text)
    bare = "".join(each for each in letters if not unicodedata.combining(each))
    return " ".join(_MARKS.sub(" ", bare.upper()).split())


def asked(text: str) -> Asked | None:
    """Return what an inbound text asks for: the whole of it is such a word, or its first is STOP."""
    words = plain(text)
    joined = words.replace(" ", "")
    if joined in _STOP_ALL:
        return Asked.STOP_ALL
    if joined in _STOP or words.partition(" ")[0] == "STOP":
        return Asked.STOP
    if joined in _START:
        return Asked.START
    return Asked.HELP if joined in _HELP else None
