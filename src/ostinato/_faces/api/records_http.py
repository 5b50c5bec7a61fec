"""`/api/v1/engine/leases`, `/transitions`, `/keys` and `/webhooks`: what the tenant's operators look after."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Path, Query, Request
from psycopg import AsyncConnection
from pydantic import Field

from ostinato._core.base.errors import Conflict, InvalidInput, LeaseHeld, NotFound
from ostinato._core.base.safeurl import parse_allowed
from ostinato._core.engine import keys, leases, machines, webhooks
from ostinato._core.engine.leases import LeaseLine
from ostinato._core.engine.machines import Past
from ostinato._core.engine.webhooks import Endpoint
from ostinato._core.web.caller import Who
from ostinato._core.web.routes import Router
from ostinato._faces.api.desk import AtDesk, Desk
from ostinato._faces.api.job_views import Because, ReasonRequest, Text, reason_of
from ostinato._faces.api.key_rights import beyond_giving, check_revocation, check_rotation
from ostinato._faces.api.parts import parts_of
from ostinato._faces.api.permissions import ENGINE_ADMIN, ENGINE_READ, ENGINE_WRITE, READERS
from ostinato._faces.api.views import (
    BIGGEST,
    MAX_NAME,
    PREFIX,
    Before,
    Checked,
    Limit,
    Page,
    Reason,
    View,
    page_of,
    shows,
)

router = Router(prefix=PREFIX, tags=["records"])

Name = Annotated[str, Path(min_length=1, max_length=MAX_NAME, examples=["partner"])]
KeyId = Annotated[int, Path(ge=1, le=BIGGEST, description="The id of a key.", examples=[7])]
YEAR = 31_536_000.0
Headers = dict[Annotated[str, Field(min_length=1, max_length=MAX_NAME)], Annotated[str, Field(max_length=8_192)]]
Secret = Annotated[str, Field(min_length=1, max_length=200)]


@shows(LeaseLine, without=["tenant"], name="books", holder="host-1", token=7)
class LeaseView(View):
    """A holder has a lease, with a token."""


class Leases(View):
    """Leases by name."""

    items: list[LeaseView]


@shows(Past)
class TransitionView(View):
    """A change of state of a row."""


class TransitionPage(Page[TransitionView]):
    """Changes of state, newest first."""


@shows(keys.Key, id=7, subject="billing", roles=["ops"])
class KeyView(View):
    """An API key; its text is shown once, when it is made."""


class KeyPage(Page[KeyView]):
    """Keys, newest first."""


class KeyRequest(Checked):
    """A key to be made."""

    subject: Text = Field(examples=["billing"])
    roles: list[Text] = Field(min_length=1, max_length=20, examples=[["ops"]])
    name: Text | None = Field(default=None, examples=[None])
    """The key is for this."""
    expires_in: float | None = Field(default=None, gt=0, le=10 * YEAR, examples=[None])
    """Seconds; null means that it does not expire."""
    reason: Because | None = Field(default=None, examples=["for the new server"])
    """The audit tells why."""


class RotateRequest(Checked):
    """The caller says how long the old key is valid beside the new one."""

    overlap_seconds: float = Field(default=86_400.0, ge=0, le=YEAR)
    reason: Because | None = Field(default=None, examples=["yearly"])
    """The audit tells why."""


class NewKey(View):
    """A new key, with its text."""

    key: str = Field(examples=["ost_7_…"])
    """Its text, which nothing shows again."""
    record: KeyView


@shows(Endpoint, name="partner", url="https://partner.example.com/in", event_types=["order.*"])
class EndpointView(View):
    """An endpoint: only the ends of its secrets and the names of its headers."""


class Endpoints(View):
    """Endpoints by name."""

    items: list[EndpointView]


class EndpointRequest(Checked):
    """An endpoint to be made."""

    url: str = Field(min_length=1, max_length=2_000, examples=["https://partner.example.com/in"])
    event_types: list[Text] = Field(default_factory=lambda: ["*"], min_length=1, max_length=100)
    description: str = Field(default="", max_length=1_000)
    ordered: bool = True
    """True sends the events of a key one after the other."""
    headers: Headers = Field(default_factory=dict, max_length=50, examples=[{"Authorization": "Bearer …"}])
    """Sent with each message; their values are shown nowhere."""
    timeout_seconds: float = Field(default=5.0, gt=0, le=YEAR)
    """An answer may take so long."""
    disable_after_seconds: float = Field(default=5 * 86_400.0, gt=0, le=YEAR)
    """An endpoint that has refused everything for so long is disabled."""
    secret: Secret | None = Field(default=None, examples=[None])
    """A secret of your own (`whsec_…`), to sign with; null makes one."""
    reason: Because | None = Field(default=None, examples=["a new partner"])
    """The audit tells why."""


class EndpointChange(Checked):
    """Each field that is given changes; null leaves it."""

    url: str | None = Field(default=None, min_length=1, max_length=2_000, examples=[None])
    event_types: list[Text] | None = Field(default=None, min_length=1, max_length=100)
    description: str | None = Field(default=None, max_length=1_000)
    headers: Headers | None = Field(default=None, max_length=50, examples=[None])
    """All of them anew; their values are shown nowhere."""
    timeout_seconds: float | None = Field(default=None, gt=0, le=YEAR, examples=[None])
    disable_after_seconds: float | None = Field(default=None, gt=0, le=YEAR, examples=[None])
    reason: Because | None = Field(default=None, examples=["they have moved"])
    """The audit tells why."""


class SecretRequest(ReasonRequest):
    """A secret that is there already."""

    secret: Secret | None = Field(default=None, examples=[None])
    """A secret of your own (`whsec_…`); null makes one."""


class NewSecret(View):
    """A secret with which messages are signed."""

    secret: str = Field(examples=["whsec_…"])
    """Its text, which nothing shows again."""


class Count(View):
    """The count says how many were met."""

    count: int


@router.get("/leases", needs=ENGINE_READ)
async def list_leases(
    caller: Who, *, prefix: Annotated[str, Query(max_length=MAX_NAME, examples=[""])] = "", limit: Limit = 50
) -> Leases:
    """Return the leases of the tenant whose names begin with a prefix."""
    async with caller.reading() as conn:
        return Leases.of(items=await leases.list_leases(conn, prefix=prefix, tenant=caller.tenant_id, most=limit))


@router.post("/leases/{name:path}/release", needs=ENGINE_WRITE, raises=(NotFound, LeaseHeld))
async def release_lease(
    desk: AtDesk,
    name: Name,
    *,
    force: Annotated[bool, Query(description="Also while it is held: its holder is refused from then on.")] = False,
    body: ReasonRequest | None = None,
) -> Count:
    """Release a lease whose holder is gone."""
    async with desk.transaction(reason_of(body)) as conn:
        return Count(count=int(await leases.force_release(conn, name, tenant=desk.tenant_id, force=force)))


@router.get("/transitions/{entity}", needs=ENGINE_READ)
async def list_transitions(
    caller: Who,
    entity: Annotated[str, Path(min_length=1, max_length=MAX_NAME, examples=["shop.order"])],
    *,
    entity_id: Annotated[str | None, Query(min_length=1, max_length=MAX_NAME, examples=[None])] = None,
    before: Before = None,
    limit: Limit = 50,
) -> TransitionPage:
    """Return the changes of state of the tenant's rows of a table, or of one row, newest first."""
    async with caller.reading() as conn:
        rows = await machines.history(
            conn, entity, entity_id, tenant_id=caller.tenant_id, before=before, most=limit + 1
        )
    return page_of(TransitionPage, rows, limit)


@router.get("/keys", needs=ENGINE_ADMIN)
async def list_keys(desk: AtDesk, *, before: Before = None, limit: Limit = 50) -> KeyPage:
    """Return the API keys of the tenant, newest first."""
    async with desk.transaction() as conn:
        rows = await keys.list_keys(conn, tenant_id=desk.tenant_id, before=before, most=limit + 1)
    return page_of(KeyPage, rows, limit)


@router.post("/keys", needs=ENGINE_ADMIN, status_code=201)
async def create_key(caller: Who, desk: AtDesk, body: KeyRequest) -> NewKey:
    """Make an API key of the tenant, with roles that the caller has or that the engine knows."""
    if beyond := beyond_giving(body.roles, caller.roles):
        raise InvalidInput(
            f"the roles {', '.join(beyond)[:200]} are not yours to give", hint=f"Roles: {', '.join(READERS)}."
        )
    async with desk.transaction(body.reason) as conn:
        made = await keys.create(
            conn,
            tenant_id=desk.tenant_id,
            subject=body.subject,
            roles=body.roles,
            name=body.name,
            expires_in=body.expires_in,
        )
    return NewKey.of(key=made.key, record=made.record)


@router.post("/keys/{key_id:digits}/rotate", needs=ENGINE_ADMIN, raises=(NotFound, Conflict), status_code=201)
async def rotate_key(caller: Who, desk: AtDesk, key_id: KeyId, body: RotateRequest | None = None) -> NewKey:
    """Make the successor of a key: of one's own, or of one whose roles the caller may give."""
    given = body or RotateRequest()
    async with desk.transaction(given.reason) as conn:
        if key_id != caller.key_id:
            await check_rotation(conn, key_id, desk.tenant_id, caller.roles)
        made = await keys.rotate(conn, key_id, overlap_seconds=given.overlap_seconds, tenant_id=desk.tenant_id)
    return NewKey.of(key=made.key, record=made.record)


@router.post("/keys/{key_id:digits}/revoke", needs=ENGINE_ADMIN, raises=(NotFound,))
async def revoke_key(desk: AtDesk, key_id: KeyId, body: ReasonRequest | None = None) -> KeyView:
    """End a key, and the sessions that it opened; those of the installation's operators are not the tenant's to end."""
    async with desk.transaction(reason_of(body)) as conn:
        await check_revocation(conn, key_id, desk.tenant_id)
        return KeyView.model_validate(await keys.revoke(conn, key_id, tenant_id=desk.tenant_id))


@router.get("/webhooks", needs=ENGINE_READ)
async def list_endpoints(desk: AtDesk) -> Endpoints:
    """Return the webhook endpoints of the tenant."""
    async with desk.transaction() as conn:
        return Endpoints.of(items=await webhooks.list_endpoints(conn, tenant_id=desk.tenant_id))


@router.post("/webhooks/{name}", needs=ENGINE_WRITE, raises=(Conflict,), status_code=201)
async def create_endpoint(request: Request, desk: AtDesk, name: Name, body: EndpointRequest) -> NewSecret:
    """Make an endpoint; the secret that signs its messages is shown once."""
    allowed = parse_allowed(parts_of(request).settings.webhooks_allow_private)
    given = body.model_dump(exclude={"reason"})
    async with desk.transaction(body.reason) as conn:
        made = await webhooks.create_endpoint(conn, name, tenant_id=desk.tenant_id, allowed=allowed, **given)
    return NewSecret(secret=made.secret)


@router.patch("/webhooks/{name}", needs=ENGINE_WRITE, raises=(NotFound,))
async def change_endpoint(request: Request, desk: AtDesk, name: Name, body: EndpointChange) -> EndpointView:
    """Change an endpoint."""
    allowed = parse_allowed(parts_of(request).settings.webhooks_allow_private)
    given = body.model_dump(exclude={"reason"})
    async with desk.transaction(body.reason) as conn:
        await webhooks.change_endpoint(conn, name, tenant_id=desk.tenant_id, allowed=allowed, **given)
        return await _shown(desk, conn, name)


@router.get("/webhooks/{name}", needs=ENGINE_READ, raises=(NotFound,))
async def show_endpoint(desk: AtDesk, name: Name) -> EndpointView:
    """Return one webhook endpoint."""
    async with desk.transaction() as conn:
        return await _shown(desk, conn, name)


@router.post("/webhooks/{name}/pause", needs=ENGINE_WRITE, raises=(NotFound,))
async def pause_endpoint(desk: AtDesk, name: Name, body: ReasonRequest | None = None) -> EndpointView:
    """Pause an endpoint: nothing more is sent there until it is resumed."""
    async with desk.transaction(reason_of(body)) as conn:
        await webhooks.pause(conn, name, tenant_id=desk.tenant_id)
        return await _shown(desk, conn, name)


@router.post("/webhooks/{name}/resume", needs=ENGINE_WRITE, raises=(NotFound,))
async def resume_endpoint(desk: AtDesk, name: Name, body: ReasonRequest | None = None) -> EndpointView:
    """Resume an endpoint."""
    async with desk.transaction(reason_of(body)) as conn:
        await webhooks.resume(conn, name, tenant_id=desk.tenant_id)
        return await _shown(desk, conn, name)


@router.post("/webhooks/{name}/rotate", needs=ENGINE_WRITE, raises=(NotFound,), status_code=201)
async def rotate_secret(
    desk: AtDesk,
    name: Name,
    *,
    overlap_seconds: Annotated[float, Query(ge=0, le=YEAR)] = 86_400.0,
    body: SecretRequest | None = None,
) -> NewSecret:
    """Rotate the secret of an endpoint; the old one signs beside it for a day, unless said otherwise."""
    own = None if body is None else body.secret
    async with desk.transaction(reason_of(body)) as conn:
        made = await webhooks.rotate(conn, name, overlap_seconds=overlap_seconds, tenant_id=desk.tenant_id, secret=own)
    return NewSecret(secret=made)


@router.delete("/webhooks/{name}", needs=ENGINE_WRITE, raises=(NotFound,), status_code=204)
async def remove_endpoint(desk: AtDesk, name: Name, reason: Reason = None) -> None:
    """Remove an endpoint."""
    async with desk.transaction(reason) as conn:
        await webhooks.remove_endpoint(conn, name, tenant_id=desk.tenant_id)


async def _shown(desk: Desk, conn: AsyncConnection[Any], name: str) -> EndpointView:
    return EndpointView.of(**asdict(await webhooks.show_endpoint(conn, name, tenant_id=desk.tenant_id)))
