"""Consented messages by WhatsApp, SMS and mail: accepted once, sent if allowed, accounted for.

Seed 002. `rules` and `policy` hold the decisions, `sending` what is asked before an attempt,
`settling` and `failing` what follows from it, `callbacks` what providers tell later.
"""

from typing import Final

from ostinato import App, Queue, Rate
from ostinato.apps.outbound.alerts import ALERTS

__all__ = ["APP"]

APP: Final = App(
    "outbound",
    # 80 a second for one business number (6.2), a long number of Twilio, a polite mail server.
    queues=(
        Queue("outbound_whatsapp", key_rate=Rate(80, 1)),
        Queue("outbound_sms", key_rate=Rate(10, 1)),
        Queue("outbound_email", key_rate=Rate(20, 1)),
    ),
    jobs=("ostinato.apps.outbound.coop_jobs", "ostinato.apps.outbound.jobs"),
    settings="ostinato.apps.outbound.settings:OutboundSettings",
    http="ostinato.apps.outbound.http:router",
    sql="ostinato.apps.outbound.schema:COMPONENT",
    sandbox="ostinato.apps.outbound.sandbox:Providers",
    demo="ostinato.apps.outbound.demo:SCENARIO",
    metrics="ostinato.apps.outbound.metrics:FIGURES",
    panels=("ostinato.apps.outbound.panel:PANEL",),
    doctor="ostinato.apps.outbound.checkup:CHECKUP",
    alerts=ALERTS,
    machines=(
        "ostinato.apps.outbound.machine:MESSAGE",
        "ostinato.apps.outbound.machine:CONSENT",
    ),
)
