"""The engine's routes, under `/api/v1/engine`."""

from ostinato.web.routes import Router

__all__ = ["router"]

router = Router(prefix="/api/v1/engine", tags=["engine"])
