"""Says what went wrong, and what to do, in the reader's language: by the code of the error.

An error's own message has the values, and is English; a page in another language shows it below, marked
as such. A code that is not listed here has a sentence that fits all.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ostinato._core.base.errors import OstinatoError
from ostinato._core.web.problems import FieldError
from ostinato._faces.console.text import Language
from ostinato._faces.console.words import N_


class Told(NamedTuple):
    """An error as its reader sees it."""

    what: str
    remedy: str
    original: str
    """The message as the engine wrote it, where that is another language; else empty."""


ANY = (N_("The request could not be carried out."), N_("Note the correlation id, and ask who runs this installation."))
TEXTS: Mapping[str, tuple[str, str]] = {
    "invalid_input": (N_("A value cannot be used."), N_("Correct the value that is named below, and send it again.")),
    "not_found": (
        N_("There is nothing by that name or id, or it belongs to another tenant."),
        N_("Check the name or id; what ended leaves the history after a while."),
    ),
    "conflict": (
        N_("It clashes with something that is already there."),
        N_("Look at what is there, then decide which of the two is meant."),
    ),
    "unique_conflict": (N_("A job with the same unique key is alive."), N_("Wait for that job, or cancel it.")),
    "lease_held": (N_("Somebody else holds the lease."), N_("Try again later.")),
    "wrong_state": (
        N_("This cannot be done in the state that it is in."),
        N_("Load its page again: it may have gone on meanwhile."),
    ),
    "illegal_transition": (
        N_("This state may not follow the one that it is in."),
        N_("The page Machines shows which may."),
    ),
    "forbidden": (N_("You may not do this."), N_("Sign in with a key that has the role for it.")),
    "unauthenticated": (N_("You are not signed in, or no longer."), N_("Sign in again.")),
    "too_many_requests": (N_("You ask faster than you may."), N_("Wait a minute, then load the page again.")),
    "unsafe_address": (
        N_("This address cannot be called: it leads into an inner network, or can be read in two ways."),
        N_("Use a public https address."),
    ),
    "no_answer": (N_("Another server did not answer."), N_("Check its address, then try again.")),
    "database_unavailable": (N_("The database does not answer."), N_("Try again in a moment.")),
    "commit_unknown": (
        N_("The connection broke at the last moment: it may have taken effect."),
        N_("Look at the page again before you repeat it."),
    ),
    "request_refused": (N_("The request cannot be read."), N_("Send it from its page.")),
    "method_refused": (N_("This address cannot be used in this way."), N_("Use the links and buttons of the pages.")),
}

MOST_FAULTS = 5
UNFIT = N_("it cannot be used")
NO_ID = N_("it is no id: copy the whole address")
NO_NUMBER = N_("it is no whole number")
FAULTS: Mapping[str, str] = {
    "missing": N_("it is missing"),
    "uuid_parsing": NO_ID,
    "uuid_type": NO_ID,
    "int_parsing": NO_NUMBER,
    "int_parsing_size": N_("it is too large"),
    "int_type": NO_NUMBER,
    "int_from_float": NO_NUMBER,
    "bool_parsing": N_("it is neither true nor false"),
    "literal_error": N_("there is no such choice"),
    "string_too_long": N_("it is too long"),
    "string_too_short": N_("it is too short"),
    "less_than": N_("it is too large"),
    "less_than_equal": N_("it is too large"),
    "greater_than": N_("it is too small"),
    "greater_than_equal": N_("it is too small"),
}
"""What is wrong with a part of an address, by the word that the check has for it."""


def tell_faults(words: Language, faults: Iterable[FieldError]) -> Told:
    """Return what is said about the parts of an address that cannot be used; their values may be secret."""
    given = list(faults)[:MOST_FAULTS]
    said = [f"{_part(each)}: {words.gettext(FAULTS.get(each.reason, UNFIT))}" for each in given]
    what = words.gettext("The address is not valid. %(faults)s.") % {"faults": "; ".join(said)}
    return Told(what, words.gettext("Go back to the page that led here, and use its links and forms."), "")


def _part(fault: FieldError) -> str:
    return fault.field.rpartition(".")[2]


def tell(words: Language, error: OstinatoError) -> Told:
    """Return what is said about an error."""
    if words.code == "en":
        return Told(f"{error.message[:1].upper()}{error.message[1:].rstrip('.')}.", error.hint or "", "")
    what, remedy = TEXTS.get(type(error).code, ANY)
    said = f"{error.message.rstrip('.')}. {error.hint or ''}".strip()
    return Told(words.gettext(what), words.gettext(remedy), said)
