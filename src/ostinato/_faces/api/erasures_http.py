"""`/api/v1/engine/erasures` blanks everything that the engine keeps about a person of the tenant."""

from dataclasses import asdict

from pydantic import Field

from ostinato._core.engine import audit, erasure
from ostinato._core.engine.erasure import Certificate
from ostinato._core.web.caller import Who
from ostinato._core.web.routes import Router
from ostinato._faces.api.job_views import Because, Subject
from ostinato._faces.api.permissions import ENGINE_ERASE
from ostinato._faces.api.views import PREFIX, Checked, View, shows

router = Router(prefix=PREFIX, tags=["audit"])


class ErasureRequest(Checked):
    """Whom to erase."""

    subject: Subject = Field(examples=["customer-7"])
    """The person, as jobs and events named it; not a hash (`hmac:…`)."""
    preview: bool = False
    """Only count."""
    keep_live: bool = False
    """Leave jobs alone that wait or run."""
    reason: Because | None = Field(default=None, examples=["request 4711"])
    """The audit tells why."""


@shows(Certificate, by="ann", erased={"job": 3, "event": 1}, cancelled=1, running=0, waiting=0)
class CertificateView(View):
    """A certificate says what was erased where; no word of the person is in it."""


@router.post("/erasures", needs=ENGINE_ERASE)
async def erase_subject(caller: Who, body: ErasureRequest) -> CertificateView:
    """Blank everything about a person. Safe to repeat, until the certificate is `complete`."""
    async with caller.transaction() as conn:
        if body.reason is not None:
            await audit.act_as(conn, reason=body.reason)
        made = await erasure.erase(
            conn, body.subject, tenant_id=caller.tenant_id, preview=body.preview, keep_live=body.keep_live
        )
    return CertificateView.of(**asdict(made))
