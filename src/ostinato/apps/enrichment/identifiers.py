"""Reads SIREN and SIRET as people type them, and refuses them in order (M3C-api-3).

Presence, then digits and length, then whether the two agree, and only then the check digit: the
acceptance scenario S04 uses numbers that fail Luhn and expects the mismatch to be named.
"""

import re
import unicodedata
from typing import Final, NamedTuple

from stdnum.fr import siren as siren_of
from stdnum.fr import siret as siret_of

from ostinato.apps.enrichment.model import ErrorCode, Identifiers

SIREN_DIGITS: Final = 9
SIRET_DIGITS: Final = 14
LONGEST: Final = 100
"""Of what is typed; longer is no number, and is not kept."""

# Whitespace of any kind (narrow and non-breaking spaces too), dots, dashes of any kind, and what does not show.
_BETWEEN = re.compile(r"[\s.\-\u2010-\u2015\u2212\u00ad\u200b\u2060\ufeff]+")
_VAT = re.compile(r"FR[0-9]{2}([0-9]{9})", re.ASCII)
_RCS = re.compile(r"RCS[^0-9]*?([0-9]{9})", re.ASCII)
_BEFORE_RCS = re.compile(r"([0-9]{9})RCS[^0-9]*", re.ASCII)


class Refused(NamedTuple):
    """Why identifiers cannot be taken."""

    code: ErrorCode
    field: str
    reason: str
    message: str


def normalised(typed: str) -> str:
    """Return the digits of a number as somebody typed it; whatever else it is, as far as it is text.

    NFKC makes full-width digits plain; a French VAT number, "RCS PARIS B 552…" and "552… RCS Paris", as
    letters have it, hold a SIREN.
    Zeros that a spreadsheet dropped are not put back: that would be another company's number.
    """
    text = _BETWEEN.sub("", unicodedata.normalize("NFKC", typed)).upper()
    found = _VAT.fullmatch(text) or _RCS.fullmatch(text) or _BEFORE_RCS.fullmatch(text)
    return found[1] if found else text


def read(siren: object, siret: object, luhn: str = "warn") -> Identifiers | Refused:
    """Return the company that a request names, or why it names none.

    A SIRET alone says its SIREN; a SIRET in the box of the SIREN is taken for what it is.
    """
    if _is_empty(siren) and _is_empty(siret):
        return Refused(ErrorCode.MISSING_COMPANY_IDENTIFIER, "siren", "required", "Un SIREN ou un SIRET est requis.")
    if _is_empty(siret) and _fits(siren, SIRET_DIGITS):
        number, establishment = None, _digits(siren)
    else:
        number, establishment = _digits(siren), _digits(siret)
        if not _is_empty(siren) and not _fits(siren, SIREN_DIGITS):
            return _bad_siren("expected_9_digits")
        if not _is_empty(siret) and not _fits(siret, SIRET_DIGITS):
            return _bad_siret("expected_14_digits")
    if number is not None and establishment is not None and establishment[:9] != number:
        return Refused(
            ErrorCode.SIREN_SIRET_MISMATCH, "siret", "siren_siret_mismatch", "Le SIRET n'appartient pas à ce SIREN."
        )
    if luhn == "enforce" and (wrong := _luhn(number, establishment)) is not None:
        return wrong
    company = number if number is not None else (establishment or "")[:SIREN_DIGITS]
    return Identifiers(number, establishment, company, _raw(siren), _raw(siret))


def fails_luhn(found: Identifiers) -> list[str]:
    """Return which of the numbers fail their check digit; La Poste's establishments have a rule of theirs.

    For `identifier_luhn = warn`: said in the log, never a refusal.
    """
    wrong = [] if found.siren is None or siren_of.is_valid(found.siren) else ["siren"]
    if found.siret is not None and not siret_of.is_valid(found.siret):
        wrong.append("siret")
    return wrong


def _luhn(siren: str | None, siret: str | None) -> Refused | None:
    if siren is not None and not siren_of.is_valid(siren):
        return _bad_siren("luhn_check_failed")
    if siret is not None and not siret_of.is_valid(siret):
        return _bad_siret("luhn_check_failed")
    return None


def _digits(typed: object) -> str | None:
    """Return the digits of what was typed; None: it is nothing, or something else."""
    if not isinstance(typed, str) or len(typed) > LONGEST:
        return None
    text = normalised(typed)
    return text if text.isascii() and text.isdigit() else None


def _fits(typed: object, length: int) -> bool:
    digits = _digits(typed)
    return digits is not None and len(digits) == length


def _is_empty(typed: object) -> bool:
    return typed is None or (isinstance(typed, str) and not _BETWEEN.sub("", typed))


def _raw(typed: object) -> str | None:
    """Return what was typed, if it was something: blanks are not, and may be of any length."""
    return typed if isinstance(typed, str) and not _is_empty(typed) else None


def _bad_siren(reason: str) -> Refused:
    return Refused(ErrorCode.INVALID_SIREN_FORMAT, "siren", reason, "Le SIREN doit comporter 9 chiffres.")


def _bad_siret(reason: str) -> Refused:
    return Refused(ErrorCode.INVALID_SIRET_FORMAT, "siret", reason, "Le SIRET doit comporter 14 chiffres.")
