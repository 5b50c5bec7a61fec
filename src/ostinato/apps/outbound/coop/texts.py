"""Holds the eight templates of Coop Habitat (rule 6.1), in French, to begin with."""

from typing import Any, Final

from ostinato.apps.outbound.coop.rules import LONGEST_VALUE

_PLAN = "(plan {{plan_id}}, version {{plan_version}})"


def _template(code: str, subject: str, body: str, *names: str) -> dict[str, Any]:
    return {
        "template_code": code,
        "language": "fr",
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
    _template(
        "EVT_COOP_CALL_FOR_FUNDS",
        "Appel de fonds",
        "Bonjour {{name}}, appel de fonds de {{amount}} à régler avant le {{due_date}} " + _PLAN,
        *("name", "amount", "due_date", "plan_id", "plan_version"),
    ),
    _template(
        "EVT_COOP_PAYMENT_REMINDER",
        "Rappel : échéance du {{due_date}}",
        "Bonjour {{name}}, rappel : {{amount}} à régler avant le {{due_date}} " + _PLAN,
        *("name", "amount", "due_date", "plan_id", "plan_version"),
    ),
    _template(
        "EVT_COOP_PAYMENT_LATE",
        "Paiement en retard",
        "Bonjour {{name}}, {{amount}} attendus le {{due_date}} restent dus, pénalité {{penalty}} " + _PLAN,
        *("name", "amount", "due_date", "penalty", "plan_id", "plan_version"),
    ),
    _template(
        "EVT_COOP_PV_PUBLISHED",
        "Document publié : {{title}}",
        "Bonjour {{name}}, un document est publié : {{title}} (référence {{document_id}}).",
        *("name", "title", "document_id"),
    ),
    _template(
        "EVT_COOP_ALLOCATION_PROPOSED",
        "Proposition d'attribution",
        "Bonjour {{name}}, rang {{rank}} : le lot {{lot}} vous est proposé. Contestation possible"
        " jusqu'au {{contest_until}}.",
        *("name", "rank", "lot", "contest_until"),
    ),
    _template(
        "EVT_COOP_ALLOCATION_ASSIGNED",
        "Lot {{lot}} attribué",
        "Bonjour {{name}}, le lot {{lot}} vous est attribué.",
        *("name", "lot"),
    ),
    _template(
        "EVT_COOP_PROJECT_MILESTONE",
        "Projet {{project_id}} : nouvelle étape",
        "Bonjour {{name}}, le projet {{project_id}} passe l'étape {{milestone}}.",
        *("name", "project_id", "milestone"),
    ),
    _template(
        "EVT_COOP_STATUS_CHANGE",
        "Changement de statut",
        "Bonjour {{name}}, {{entity}} change de statut : {{status}}.",
        *("name", "entity", "status"),
    ),
)
