"""`GET /metrics` exports the figures of engine, applications and this process to Prometheus."""

from fastapi import Request, Response

from ostinato._core.base.errors import DatabaseUnavailable
from ostinato._core.base.prometheus import render
from ostinato._core.engine import observe
from ostinato._core.runtime.observe import figures
from ostinato._core.web.routes import Router
from ostinato._faces.api.parts import parts_of

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

router = Router(tags=["operations"])


@router.get(
    "/metrics",
    public=True,
    raises=(DatabaseUnavailable,),
    response_class=Response,
    responses={200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}},
)
async def show_metrics(request: Request) -> Response:
    """The page that Prometheus reads; no label names what belongs to a tenant."""
    parts = parts_of(request)
    async with parts.client.connection() as conn:
        engine = await observe.record(conn)
        theirs = await figures.ask(conn, parts.apps, parts.recorder)
    page = render([engine, *theirs.recorders, parts.recorder], theirs.metrics)
    return Response(page, media_type=MEDIA_TYPE)
