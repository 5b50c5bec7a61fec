"""`/api/v1/engine/queues` lists the queues, their limits, and the tenant's jobs in them."""

from ostinato._core.engine import inspect
from ostinato._core.engine.inspect import QueueSummary
from ostinato._core.web.caller import Who
from ostinato._core.web.routes import Router
from ostinato._faces.api.permissions import ENGINE_READ
from ostinato._faces.api.views import PREFIX, View, shows

MOST = 1_000

router = Router(prefix=PREFIX, tags=["queues"])


@shows(QueueSummary, name="mail", ready=3, scheduled=1, running=2, dead=0, workers=4)
class QueueView(View):
    """A queue with its limits, and the tenant's jobs in it."""


class Queues(View):
    """Queues by name."""

    items: list[QueueView]


@router.get("/queues", needs=ENGINE_READ)
async def list_queues(caller: Who) -> Queues:
    """Return the queues that are configured, belong to a kind, or hold jobs of the tenant: 1,000 at most."""
    async with caller.reading() as conn:
        return Queues.of(items=await inspect.list_queues(conn, most=MOST))
