"""The HTTP router of an application is made with these parts. Needs `pip install 'ostinato[api]'`.

    from ostinato import App
    from ostinato.web import Permission, Router, Who

    READ = Permission("billing.read", ("clerk", "admin"), "read invoices")
    router = Router(prefix="/v1/billing", tags=["billing"])

    @router.get("/invoices/{number}", needs=READ)
    async def show(caller: Who, number: int) -> Invoice:
        async with caller.transaction() as conn:        # sees the caller's tenant only
            ...

    app = App("billing", http="billing.http:router")    # puts it into the API

What a route raises becomes a problem document (RFC 9457) with its remedy; `IDEMPOTENT` and `Key`
give a POST the header `Idempotency-Key`, and `Together` makes one statement of requests that wait at
the same moment. The guide is `docs/api.md`.
"""

from ostinato._core.base.answers import Answer
from ostinato._core.base.together import Together
from ostinato._core.web.caller import Caller, Who, client_of
from ostinato._core.web.idempotent import IDEMPOTENT, IdempotencyKey, Key, OnceHere
from ostinato._core.web.permissions import Permission
from ostinato._core.web.problems import MEDIA_TYPE, Answered, Problem, responses
from ostinato._core.web.routes import Router, note_line

__all__ = [
    "IDEMPOTENT",
    "MEDIA_TYPE",
    "Answer",
    "Answered",
    "Caller",
    "IdempotencyKey",
    "Key",
    "OnceHere",
    "Permission",
    "Problem",
    "Router",
    "Together",
    "Who",
    "client_of",
    "note_line",
    "responses",
]
