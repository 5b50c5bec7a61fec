"""`/api/v1/engine/webhooks/portals` makes links for the tenant's customers, and ends them."""

from datetime import datetime

from fastapi import Request
from pydantic import Field

from ostinato._core.engine import audit, portals
from ostinato._core.web.caller import Who
from ostinato._core.web.routes import Router
from ostinato._faces.api.job_views import Because
from ostinato._faces.api.permissions import ENGINE_WRITE
from ostinato._faces.api.views import PREFIX, Checked, View

router = Router(prefix=PREFIX, tags=["webhooks"])


class PortalRequest(Checked):
    """The caller says how long a link works, and for whom."""

    seconds: int = Field(default=3_600, ge=60, le=86_400, examples=[3600])
    """It works once within this time; what it opens ends after an hour without use."""
    reason: Because | None = Field(default=None, examples=["asked for by their support"])
    """The audit tells why."""


class PortalLink(View):
    """A link that works once."""

    url: str = Field(examples=["https://jobs.example.com/console/portal/enter?ticket=…"])
    """Nothing shows it again."""
    until: datetime


class PortalsClosed(View):
    """The count says how many links were ended."""

    closed: int = Field(examples=[1])


@router.post("/webhooks/portals", needs=ENGINE_WRITE, status_code=201)
async def open_portal(caller: Who, request: Request, body: PortalRequest | None = None) -> PortalLink:
    """Make a link to the tenant's endpoints of webhooks. It needs the console to be installed."""
    given = body or PortalRequest()
    async with caller.transaction() as conn:
        await audit.act_as(conn, reason=given.reason)
        made = await portals.open_portal(conn, seconds=given.seconds)
    return PortalLink(url=f"{str(request.base_url).rstrip('/')}{made.path}", until=made.until)


@router.post("/webhooks/portals/close", needs=ENGINE_WRITE)
async def close_portals(caller: Who) -> PortalsClosed:
    """End all links of the tenant, and what was opened by them."""
    async with caller.transaction() as conn:
        return PortalsClosed(closed=await portals.close_portals(conn))
