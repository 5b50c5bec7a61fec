"""`/api/v1/engine/workers` lists the workers that run the tenant's jobs."""

from ostinato._core.engine import inspect
from ostinato._core.engine.inspect import WorkerSummary
from ostinato._core.web.caller import Who
from ostinato._core.web.routes import Router
from ostinato._faces.api.permissions import ENGINE_READ
from ostinato._faces.api.views import KIND, PREFIX, View, shows

MOST = 1_000

router = Router(prefix=PREFIX, tags=["workers"])


@shows(WorkerSummary, without=["contract"], name="host-1", queues=["default", "mail"], kinds=[KIND])
class WorkerView(View):
    """A worker of the installation, alive or not, and the tenant's jobs that it holds."""


class Workers(View):
    """Workers, the longest silent first."""

    items: list[WorkerView]


@router.get("/workers", needs=ENGINE_READ)
async def list_workers(caller: Who) -> Workers:
    """Return the workers of the installation: 1,000 at most."""
    async with caller.reading() as conn:
        return Workers.of(items=await inspect.list_workers(conn, most=MOST))
