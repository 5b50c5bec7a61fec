"""Holds the eight templates of Coop Habitat (rule 6.1), in French and in English, to begin with."""

from collections.abc import Iterator
from typing import Any, Final

from ostinato.apps.outbound.coop.rules import LONGEST_VALUE

_PLAN = "(plan {{plan_id}}, version {{plan_version}})"


def _templates(
    code: str, french: tuple[str, str], english: tuple[str, str], names: tuple[str, ...]
) -> Iterator[dict[str, Any]]:
    """Yield a template in each language: its subject, and what it says."""
    for language, (subject, body) in (("fr", french), ("en", english)):
        yield {
            "template_code": code,
            "language": language,
            "category": "UTILITY",
            "provider_name": code.removeprefix("EVT_").lower(),
            "body": body,
            "subject": subject,
            "variables": [{"name": name, "max_length": LONGEST_VALUE, "required": True} for name in names],
            "components": [],
            "parameter_format": "NAMED",
            "is_active": True,
        }


TEMPLATES: Final = (
    *_templates(
        "EVT_COOP_CALL_FOR_FUNDS",
        ("Appel de fonds", "Bonjour {{name}}, appel de fonds de {{amount}} à régler avant le {{due_date}} " + _PLAN),
        ("Call for funds", "Hello {{name}}, a call for funds of {{amount}} is due by {{due_date}} " + _PLAN),
        ("name", "amount", "due_date", "plan_id", "plan_version"),
    ),
    *_templates(
        "EVT_COOP_PAYMENT_REMINDER",
        (
            "Rappel : échéance du {{due_date}}",
            "Bonjour {{name}}, rappel : {{amount}} à régler avant le {{due_date}} " + _PLAN,
        ),
        ("Reminder: due on {{due_date}}", "Hello {{name}}, a reminder: {{amount}} is due by {{due_date}} " + _PLAN),
        ("name", "amount", "due_date", "plan_id", "plan_version"),
    ),
    *_templates(
        "EVT_COOP_PAYMENT_LATE",
        (
            "Paiement en retard",
            "Bonjour {{name}}, {{amount}} attendus le {{due_date}} restent dus, pénalité {{penalty}} " + _PLAN,
        ),
        (
            "Late payment",
            "Hello {{name}}, {{amount}} expected on {{due_date}} is still due, with a penalty of {{penalty}} " + _PLAN,
        ),
        ("name", "amount", "due_date", "penalty", "plan_id", "plan_version"),
    ),
    *_templates(
        "EVT_COOP_PV_PUBLISHED",
        (
            "Document publié : {{title}}",
            "Bonjour {{name}}, un document est publié : {{title}} (référence {{document_id}}).",
        ),
        (
            "Document published: {{title}}",
            "Hello {{name}}, a document was published: {{title}} (reference {{document_id}}).",
        ),
        ("name", "title", "document_id"),
    ),
    *_templates(
        "EVT_COOP_ALLOCATION_PROPOSED",
        (
            "Proposition d'attribution",
            (
                "Bonjour {{name}}, rang {{rank}} : le lot {{lot}} vous est proposé. Contestation possible"
                " jusqu'au {{contest_until}}."
            ),
        ),
        (
            "A lot is proposed to you",
            (
                "Hello {{name}}, rank {{rank}}: lot {{lot}} is proposed to you. You may contest it until"
                " {{contest_until}} at the latest."
            ),
        ),
        ("name", "rank", "lot", "contest_until"),
    ),
    *_templates(
        "EVT_COOP_ALLOCATION_ASSIGNED",
        ("Lot {{lot}} attribué", "Bonjour {{name}}, le lot {{lot}} vous est attribué."),
        ("Lot {{lot}} is yours", "Hello {{name}}, lot {{lot}} is attributed to you."),
        ("name", "lot"),
    ),
    *_templates(
        "EVT_COOP_PROJECT_MILESTONE",
        (
            "Projet {{project_id}} : nouvelle étape",
            "Bonjour {{name}}, le projet {{project_id}} passe l'étape {{milestone}}.",
        ),
        (
            "Project {{project_id}}: a new milestone",
            "Hello {{name}}, project {{project_id}} has reached the milestone {{milestone}}.",
        ),
        ("name", "project_id", "milestone"),
    ),
    *_templates(
        "EVT_COOP_STATUS_CHANGE",
        ("Changement de statut", "Bonjour {{name}}, {{entity}} change de statut : {{status}}."),
        ("Change of status", "Hello {{name}}, the status of {{entity}} is now {{status}}."),
        ("name", "entity", "status"),
    ),
)
