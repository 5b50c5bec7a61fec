"""Defines what the outbound application refuses, in one place."""

from ostinato.errors import OstinatoError


class ConsentRequired(OstinatoError):
    """Nobody allowed this message: there is no granted consent for its channel and purpose."""

    code = "consent_required"
    status = 422
    hint = "Record the consent with its proof first: PUT /api/v1/outbound/consents."


class ConsentProofRequired(OstinatoError):
    """A consent was to be recorded as granted without a proof of it."""

    code = "consent_proof_required"
    status = 422
    hint = "Send what proves it: the wording, its version or hash, the language, and the time."


class TemplateRefused(OstinatoError):
    """The template is not there or not active, or its variables are not those that it needs."""

    code = "template_refused"
    status = 422
    hint = "GET /api/v1/outbound/templates lists the templates and their variables."


class SenderUnproven(OstinatoError):
    """Nothing proves that the sender is the organisation's, or there is no account to send it with."""

    code = "sender_unproven"
    status = 422
    hint = "POST /api/v1/outbound/senders/{id}/prove, or ask the administrator: ostinato outbound grant."


class WindowClosed(OstinatoError):
    """Free text on WhatsApp is allowed only within 24 hours of the last inbound message."""

    code = "window_closed"
    status = 422
    hint = "Send a template, or name one as fallbackTemplate."


class MessageWrongState(OstinatoError):
    """The message is in a state in which this cannot be done."""

    code = "message_wrong_state"
    status = 409
    hint = "GET the message: only one that FAILED can be retried, and only one that is QUEUED cancelled."


class Undeliverable(Exception):
    """A message failed for good: its job becomes a dead letter."""
