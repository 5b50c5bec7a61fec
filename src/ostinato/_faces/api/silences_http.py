"""`/api/v1/engine/alerts/{name}/…` acknowledges and silences alerts of the tenant."""

from datetime import datetime
from typing import Annotated

from fastapi import Path
from pydantic import Field

from ostinato._core.base.errors import NotFound
from ostinato._core.engine import alerts, audit
from ostinato._core.engine.alerts import Silence
from ostinato._core.web.caller import Who
from ostinato._core.web.routes import Router
from ostinato._faces.api.job_views import Because, Instant
from ostinato._faces.api.permissions import ENGINE_READ, ENGINE_WRITE
from ostinato._faces.api.views import MAX_NAME, PREFIX, Checked, View, shows

ALERT = "ostinato.dead_letters"

router = Router(prefix=PREFIX, tags=["alerts"])

AlertName = Annotated[str, Path(min_length=1, max_length=MAX_NAME, examples=[ALERT])]
Label = Annotated[str | None, Field(max_length=100, examples=["mail"])]


class AlertLabel(Checked):
    """The label says which part of an alert is meant."""

    label: Label = None
    """One label; null means all of them."""


class AcknowledgeRequest(AlertLabel):
    """Somebody has seen what fires."""

    reason: Because | None = Field(default=None, examples=["I look into it"])
    """The audit tells why."""


class SilenceRequest(AlertLabel):
    """Nothing is sent until a moment, for a reason."""

    until: Instant = Field(examples=["2026-03-02T18:00:00Z"])
    """Within the next 90 days."""
    reason: Because = Field(examples=["the mail server is replaced tonight"])


class Acknowledged(View):
    """Labels that fire were acknowledged."""

    acknowledged: int = Field(examples=[1])
    """This many labels fire that nobody had acknowledged."""


class Silenced(View):
    """An alert is silent, or is not any more."""

    silenced_until: datetime | None
    """Null means that its events are sent."""


@shows(Silence, alert=ALERT, label="mail", reason="the mail server is replaced tonight", silenced_by="ann")
class SilenceView(View):
    """A time in which nothing is sent about an alert."""


class Silences(View):
    """Silences that last; those that end first come first."""

    items: list[SilenceView]


@router.get("/alerts/silences", needs=ENGINE_READ)
async def list_silences(caller: Who) -> Silences:
    """Return the silences of the tenant's alerts: 1,000 at most."""
    async with caller.reading() as conn:
        return Silences.of(items=await alerts.list_silences(conn))


@router.post("/alerts/{name}/ack", needs=ENGINE_WRITE, raises=(NotFound,))
async def acknowledge_alert(caller: Who, name: AlertName, body: AcknowledgeRequest | None = None) -> Acknowledged:
    """Acknowledge an alert: somebody has seen what fires. It fires on."""
    given = body or AcknowledgeRequest()
    async with caller.transaction() as conn:
        await audit.act_as(conn, reason=given.reason)
        return Acknowledged(acknowledged=await alerts.acknowledge(conn, name, label=given.label))


@router.post("/alerts/{name}/silence", needs=ENGINE_WRITE, raises=(NotFound,))
async def silence_alert(caller: Who, name: AlertName, body: SilenceRequest) -> Silenced:
    """Send no event of an alert until a moment; it is measured and shown as before. Safe to repeat."""
    async with caller.transaction() as conn:
        await alerts.silence(conn, name, until=body.until, reason=body.reason, label=body.label)
    return Silenced(silenced_until=body.until)


@router.post("/alerts/{name}/unsilence", needs=ENGINE_WRITE, raises=(NotFound,))
async def unsilence_alert(caller: Who, name: AlertName, body: AlertLabel | None = None) -> Silenced:
    """End a silence before its time. What it kept back is sent with the next evaluation."""
    async with caller.transaction() as conn:
        await alerts.unsilence(conn, name, label=None if body is None else body.label)
    return Silenced(silenced_until=None)
