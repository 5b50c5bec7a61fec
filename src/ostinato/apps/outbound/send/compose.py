"""Composes what a provider is given: the text with its variables, its twin in HTML, the way out."""

from typing import Any

from ostinato.apps.outbound.accept import components, texts
from ostinato.apps.outbound.model import Channel, Consent, Content, Message, Purpose, Sender, Template
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.tokens import LANGUAGE, mailbox_token, unsubscribe_token


def content(  # noqa: PLR0917 - all that a message is made of
    message: Message,
    template: Template | None,
    sender: Sender,
    consent: Consent | None,
    last_inbound_id: str | None,
    attempt_no: int,
    settings: OutboundSettings,
) -> Content:
    """Compose a message for one attempt."""
    link = _link(consent, message.language, settings)
    text, subject, html = texts.linked(message.payload.get("text") or "", link or ""), message.subject, None
    parts: list[dict[str, Any]] = []
    if template is not None:
        values = texts.parameters(template, message.payload.get("variables") or {})
        filled = [*values, (texts.UNSUBSCRIBE, link or "")]
        text = texts.filled_in(template.body, filled)
        subject = subject or texts.filled_in(template.subject or "", values)
        if message.channel is Channel.WHATSAPP:
            parts = components.of(template, values, texts.used_in(template.body))
        elif message.channel is Channel.EMAIL and template.html is not None:
            html = texts.filled_in_html(template.html, filled)
    bulk = message.purpose is Purpose.MARKETING and message.channel is Channel.EMAIL
    return Content(
        message_id=message.id,
        tenant_id=message.tenant_id,
        attempt_no=attempt_no,
        to=message.to_address,
        sender=sender,
        text=text,
        subject=subject,
        template=template,
        components=tuple(parts),
        html=html,
        unsubscribe=link if bulk else None,
        unsubscribe_mail=_mailbox(consent, settings) if bulk else None,
        reply_to=last_inbound_id,
    )


def _link(consent: Consent | None, language: str, settings: OutboundSettings) -> str | None:
    """Return the address at which a consent is ended by one click; it says in which language the message is."""
    if consent is None or not settings.token_secret:
        return None
    token = unsubscribe_token(settings.token_secret, consent.id)
    return f"{settings.public_url}/api/v1/outbound/unsubscribe/{token}?{LANGUAGE}={language}"


def _mailbox(consent: Consent | None, settings: OutboundSettings) -> str | None:
    """Return the mail address for the same, where the mail server posts what comes in: it knows the secret for it."""
    if consent is None or not (settings.token_secret and settings.bounce_secret):
        return None
    return f"unsubscribe+{mailbox_token(settings.token_secret, consent.id)}@{settings.mail_domain}"
