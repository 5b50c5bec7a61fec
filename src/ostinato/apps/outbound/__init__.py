"""Sends consented messages by WhatsApp, SMS and mail: once, if allowed, and accounted for.

The way of a message is `accept` (checked and queued), `send` (asked again, sent, settled) and what
`providers` report later; `consent` is what people allowed. `rules` and `policy` hold the decisions,
`http` the routes; `coop` is an application of its own on the `surface`. The rules with their
numbers are in docs/specs/outbound.md.
"""

from typing import Final

from ostinato import App, Queue, Rate
from ostinato.apps.outbound.alerts import ALERTS
from ostinato.apps.outbound.model import RATES, WORDS

APP: Final = App(
    "outbound",
    locale="ostinato.apps.outbound",
    queues=(
        *(Queue(f"outbound_{channel.lower()}", key_rate=Rate(most, 1)) for channel, most in RATES.items()),
        Queue(WORDS),
    ),
    jobs=("ostinato.apps.outbound.coop.jobs", "ostinato.apps.outbound.jobs", "ostinato.apps.outbound.round_notices"),
    settings="ostinato.apps.outbound.settings:OutboundSettings",
    commands="ostinato.apps.outbound.commands:register",
    secrets="ostinato.apps.outbound.senders.accounts:SECRETS",
    http="ostinato.apps.outbound.http:router",
    sql="ostinato.apps.outbound.schema:COMPONENT",
    sandbox="ostinato.apps.outbound.sandbox:Providers",
    demo="ostinato.apps.outbound.demo:SCENARIO",
    metrics="ostinato.apps.outbound.metrics:FIGURES",
    panels=(
        "ostinato.apps.outbound.panel:PANEL",
        "ostinato.apps.outbound.pages:MESSAGES",
        "ostinato.apps.outbound.pages:MESSAGE",
        "ostinato.apps.outbound.pages:CONSENTS",
        "ostinato.apps.outbound.pages:TEMPLATES",
        "ostinato.apps.outbound.pages:SENDERS",
        "ostinato.apps.outbound.waiting:HELD",
        "ostinato.apps.outbound.waiting:IN_DOUBT",
    ),
    doctor="ostinato.apps.outbound.checkup:CHECKUP",
    alerts=ALERTS,
    machines=("ostinato.apps.outbound.machine:MESSAGE", "ostinato.apps.outbound.machine:CONSENT"),
)
