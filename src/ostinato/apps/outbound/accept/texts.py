"""Checks templates and their variables for accepted messages, and fills them in for sent ones."""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ostinato.apps.outbound.accept import components
from ostinato.apps.outbound.errors import TemplateRefused
from ostinato.apps.outbound.model import Channel, Template

LONGEST_VALUE: Final = 1024
LONGEST: Final = {Channel.WHATSAPP: 4096, Channel.SMS: 1600, Channel.EMAIL: 100_000}
LONGEST_TEMPLATE: Final = 1024

_PLACE = re.compile(r"\{\{\s*([a-z][a-z0-9_]{0,62})\s*\}\}")
_BRACES = re.compile(r"\{\{[^{}]*\}\}")
_UNSENDABLE = re.compile(r"[\n\r\t]| {5,}")
# Three shift pages of GSM 03.38 are in use nowhere here: the basic set and its extension.
_GSM: Final = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    "ÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
_GSM_TWICE: Final = frozenset("€[]{}~\\^|\f")
_GSM_ONE, _GSM_PART, _UCS_ONE, _UCS_PART = 160, 153, 70, 67


UNSUBSCRIBE: Final = "unsubscribe_url"
"""The one variable that nobody gives: the address at which the reader ends the consent."""


def used_in(text: str | None) -> set[str]:
    """Return the variables of a text."""
    return set(_PLACE.findall(text or ""))


def misspelt(*texts: str | None) -> list[str]:
    """Return what looks like a variable in some texts and is none: nothing would be put in its place."""
    found = {place for text in texts for place in _BRACES.findall(text or "")}
    return sorted(place for place in found if _PLACE.fullmatch(place) is None)


def longest(channel: Channel, *, template: bool) -> int:
    """Return how long a text may be."""
    most = LONGEST[channel]
    return min(most, LONGEST_TEMPLATE) if template and channel is Channel.WHATSAPP else most


def check_declared(
    body: str,
    subject: str | None,
    variables: Sequence[Mapping[str, Any]],
    parts: Sequence[Mapping[str, Any]] = (),
    markup: str | None = None,
) -> None:
    """Refuse a template whose text, parts and variables do not fit together."""
    declared = [str(each["name"]) for each in variables]
    if len(set(declared)) != len(declared):
        raise TemplateRefused("a variable is declared twice")
    if odd := misspelt(body, subject, markup):
        raise TemplateRefused(
            f"the text has {', '.join(odd)}, which its readers would see as it is",
            hint="Name variables in small letters without accents, digits and _, as {{first_name}}; for a template"
            " of WhatsApp with {{1}} set parameterFormat to POSITIONAL and name its variables here.",
            odd=odd,
        )
    components.check(parts, variables)
    if UNSUBSCRIBE in declared:
        raise TemplateRefused(f"{UNSUBSCRIBE} is not declared: it is filled in for each recipient")
    written = (used_in(body) | used_in(markup)) - {UNSUBSCRIBE} | used_in(subject)
    media = {str(each["name"]) for each in variables if each.get("kind") == "media"}
    if written & media:
        raise TemplateRefused("a media variable is not for a text", media=sorted(written & media))
    used = written | {str(part["variable"]) for part in parts}
    missing, idle = sorted(used - set(declared)), sorted(set(declared) - used)
    if missing or idle:
        raise TemplateRefused(
            f"the text uses {', '.join(missing) or 'nothing'} undeclared and does not use"
            f" {', '.join(idle) or 'nothing'}",
            missing=missing,
            idle=idle,
        )


def parameters(template: Template, given: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return the values of a template's variables in their order; raises `TemplateRefused`.

    WhatsApp refuses line ends, tabs and more than four spaces in a row; here they are refused
    before anything is stored.
    """
    known = [str(each["name"]) for each in template.variables]
    faults = [f"{name} is not one of its variables" for name in given if name not in known]
    found: list[tuple[str, Any]] = []
    for variable in template.variables:
        name = str(variable["name"])
        value = given.get(name)
        if value is None or value == "":
            if variable.get("required", True):
                faults.append(f"{name} is missing")
            found.append((name, "-"))  # the provider takes no empty parameter
            continue
        if variable.get("kind") == "media":
            fault = components.media_fault(value)
            faults += [f"{name} {fault}"] if fault else []
            found.append((name, value))
            continue
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            faults.append(f"{name} is neither a text nor a number")
            continue
        text = str(value)
        most = int(variable.get("max_length") or LONGEST_VALUE)
        if len(text) > most:
            faults.append(f"{name} is longer than {most} characters")
        if _UNSENDABLE.search(text):
            faults.append(f"{name} has a line end, a tab or more than four spaces in a row")
        found.append((name, text))
    if faults:
        raise TemplateRefused(
            f"template {template.code}: {'; '.join(faults)}", template_code=template.code, faults=faults
        )
    return tuple(found)


def filled_in(text: str, values: Iterable[tuple[str, Any]]) -> str:
    """Return a text with its variables in their places."""
    named = dict(values)
    return _PLACE.sub(lambda found: str(named.get(found[1], "")), text)


def linked(text: str, link: str) -> str:
    """Return a free text with the address to unsubscribe by in its place; it has no other variable."""
    return _PLACE.sub(lambda found: link if found[1] == UNSUBSCRIBE else found[0], text)


def filled_in_html(text: str, values: Iterable[tuple[str, Any]]) -> str:
    """Return HTML with its variables in their places: a value is text, whatever is in it."""
    return filled_in(text, [(name, html.escape(str(value))) for name, value in values])


def segments(text: str) -> int:
    """Return how many parts an SMS has: 160 letters of GSM-7, or 70 if one letter is not among them."""
    if all(letter in _GSM or letter in _GSM_TWICE for letter in text):
        length = sum(2 if letter in _GSM_TWICE else 1 for letter in text)
        one, part = _GSM_ONE, _GSM_PART
    else:
        length = len(text.encode("utf-16-be")) // 2
        one, part = _UCS_ONE, _UCS_PART
    return 1 if length <= one else -(-length // part)
