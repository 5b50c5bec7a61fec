"""Checks that what a message says can be sent on its channel, before anything is stored."""

from collections.abc import Mapping
from typing import Any

from ostinato.apps.outbound.accept import texts
from ostinato.apps.outbound.accept.components import MEDIA
from ostinato.apps.outbound.errors import TemplateRefused
from ostinato.apps.outbound.model import Channel, NewMessage, Purpose, Template
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.errors import InvalidInput


def check(new: NewMessage, template: Template | None, purpose: Purpose, settings: OutboundSettings) -> None:
    """Refuse a message whose content no provider would take."""
    if (new.text is None) is (template is None):
        raise InvalidInput(
            "a message has either a template or a text", hint="Send templateCode with variables, or text."
        )
    written = (new.text,) if template is None else (template.body, template.html)
    if any(texts.UNSUBSCRIBE in texts.used_in(each) for each in written):
        _check_link(new.channel, template, settings)
    if new.channel is Channel.EMAIL:
        _check_mail(new, template, purpose, settings)
    most = texts.longest(new.channel, template=False)
    if new.text is not None and len(new.text) > most:
        raise InvalidInput(f"the text is longer than {most} characters", hint="Send less, or another channel.")
    if new.fallback is not None:
        _check_fallback(new, template)


def filled(channel: Channel, template: Template, variables: Mapping[str, Any]) -> str:
    """Return the text of a template; raises `TemplateRefused` if the channel cannot carry it."""
    values = texts.parameters(template, variables)
    shown = [part for part in template.components if part.get("format") in MEDIA]
    if shown and channel is not Channel.WHATSAPP:
        raise TemplateRefused(
            f"template {template.code} has a {str(shown[0]['format']).lower()}, which {channel} does not carry",
            template_code=template.code,
        )
    text = texts.filled_in(template.body, values)
    most = texts.longest(channel, template=True)
    if len(text) > most:
        raise TemplateRefused(
            f"template {template.code} has {len(text)} characters with these variables, more than {most}",
            template_code=template.code,
        )
    return text


def _check_link(channel: Channel, template: Template | None, settings: OutboundSettings) -> None:
    """Refuse a template, or a text, with a link that could not be filled in."""
    if channel is Channel.WHATSAPP:
        if template is None:
            raise InvalidInput(
                f"the text has {texts.UNSUBSCRIBE}, which is for mail and SMS", hint="There STOP ends marketing."
            )
        raise TemplateRefused(
            f"template {template.code} has {texts.UNSUBSCRIBE}, which WhatsApp would show as it is",
            hint="There STOP ends marketing; or declare a variable for a link of your own.",
            template_code=template.code,
        )
    if not settings.token_secret:
        raise InvalidInput("a link to unsubscribe cannot be sealed", hint="Set OSTINATO_OUTBOUND_TOKEN_SECRET.")


def _check_fallback(new: NewMessage, template: Template | None) -> None:
    """Refuse a fallback without an address that its channel can use."""
    other = new.fallback or {}
    by_mail = other.get("channel") == Channel.EMAIL
    if not other.get("to") and by_mail is not (new.channel is Channel.EMAIL):
        raise InvalidInput(
            "the fallback is by a channel with other addresses, and names none",
            hint="Send fallback.to.",
            field="fallback.to",
        )
    if by_mail and not _has_subject(new, template):
        raise InvalidInput(
            "the fallback is a mail, which needs a subject", hint="Send subject, or a template with one."
        )


def _has_subject(new: NewMessage, template: Template | None) -> bool:
    return bool(new.subject or (template is not None and template.subject))


def _check_mail(new: NewMessage, template: Template | None, purpose: Purpose, settings: OutboundSettings) -> None:
    if not _has_subject(new, template):
        raise InvalidInput("a mail needs a subject", hint="Send subject, or a template with one.")
    if purpose is Purpose.MARKETING and not settings.token_secret:
        raise InvalidInput(
            "marketing mail needs a link to unsubscribe, which cannot be sealed",
            hint="Set OSTINATO_OUTBOUND_TOKEN_SECRET.",
        )
