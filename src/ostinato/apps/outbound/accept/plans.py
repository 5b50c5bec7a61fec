"""Plans messages: reads the recipient, fills in the template, and says what a message is for. Nothing but values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any, Final

from ostinato.apps.outbound import rules
from ostinato.apps.outbound.accept import address, contents, texts
from ostinato.apps.outbound.accept.memory import Memory
from ostinato.apps.outbound.errors import TemplateRefused
from ostinato.apps.outbound.model import Category, Channel, NewMessage, Organisation, Purpose, Template
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.idempotency import Declaration

ASKED: Final = Declaration(
    include=(
        *("channel", "to", "subject_id", "dossier_id", "template_code", "subject", "language"),
        *("purpose", "urgent", "sender_id", "variables", "text", "fallback_template", "fallback"),
        *("meta", "send_at"),
    )
)
"""What two requests with one key are compared by: what was asked, not what came of it."""
HASH_DIGITS: Final = 32


@dataclass(frozen=True, slots=True)
class Plan:
    """What a request comes down to."""

    to: str
    language: str
    purpose: Purpose
    payload: dict[str, Any]


def planned(new: NewMessage, tenant_id: str, chosen: Organisation, memory: Memory, settings: OutboundSettings) -> Plan:
    """Plan a message by what is remembered; raises what is wrong with it."""
    to = address.normalised(new.channel, new.to, region=chosen.region, validation=settings.validation)
    language = new.language or chosen.language

    def found(code: str) -> Template:
        template = memory.template(tenant_id, code, language)
        if template is None or not template.is_usable:
            raise TemplateRefused(
                f"there is no active template {code} in {language}", template_code=code, language=language
            )
        return template

    template, text, used = None, "", []
    if new.template_code is not None:
        template = found(new.template_code)
        text = contents.filled(new.channel, template, new.variables)
        used.append(template)
    other = new.fallback_template
    if other is not None:
        instead = found(str(other["code"]))
        contents.filled(new.channel, instead, other.get("variables") or {})
        used.append(instead)
    purpose = _purpose(used, new.purpose)
    contents.check(new, template, purpose, settings)
    payload: dict[str, Any] = {
        "variables": dict(new.variables),
        "text": new.text,
        "fallback_template": None if other is None else dict(other),
        "fallback": None if new.fallback is None else dict(new.fallback),
        "meta": dict(new.meta),
    }
    if new.channel is Channel.SMS:
        payload["segments"] = texts.segments(new.text or text)
    return Plan(to, language, purpose, payload)


def fingerprint(new: NewMessage, chosen: Organisation, plan: Plan | None) -> Mapping[str, str]:
    """Fingerprint a request, field by field, as the engine does for its own keys.

    What is stored of it is sealed by `outbound.sealed`: all numbers of a country are hashed in minutes.
    """
    asked = {name: getattr(new, name) for name in ASKED.include or ()}
    asked["send_at"] = None if new.send_at is None else new.send_at.astimezone(UTC).isoformat()
    is_number = plan is not None and new.channel is not Channel.EMAIL  # the same, and read once
    asked["to"] = plan.to if is_number and plan else address.alike(new.channel, new.to, chosen.region)
    return {name: value[:HASH_DIGITS] for name, value in ASKED.fingerprint(asked).fields.items()}


def _purpose(templates: Sequence[Template], asked: Purpose | None) -> Purpose:
    """Return what a message is for; refuses one whose template is for marketing, and which says less."""
    found = rules.purpose_of([each.category for each in templates], asked)
    if found is None:
        codes = [each.code for each in templates if each.category is Category.MARKETING]
        raise TemplateRefused(
            f"template {codes[0]} is MARKETING, and the message says {asked}",
            hint="Leave purpose out: the category of the template decides, and marketing needs its own consent.",
            template_code=codes[0],
            purpose=str(asked),
        )
    return found
