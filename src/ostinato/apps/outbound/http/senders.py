"""Serves what is sent from: set it up, prove whose it is, release it; and what the administrator grants."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import Field, StrictBool, StringConstraints

from ostinato import audit, database, tenants
from ostinato.apps.outbound import rules, store
from ostinato.apps.outbound.accept import address
from ostinato.apps.outbound.model import RATES, Channel, OnUnknown, Sender
from ostinato.apps.outbound.permissions import GRANT, OPERATE, READ, SET_UP
from ostinato.apps.outbound.providers import provider_of
from ostinato.apps.outbound.providers.wire import Wire, pooled
from ostinato.apps.outbound.send import holds
from ostinato.apps.outbound.senders import accounts, ownership
from ostinato.apps.outbound.senders.ownership import RECORD, Owned
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Connection, Row
from ostinato.apps.outbound.views import NUMBER, Name, Short, View
from ostinato.errors import Conflict, Forbidden, InvalidInput, NotFound, SecretKeyMissing
from ostinato.observe import redact
from ostinato.web import Router, Who

router = Router(prefix="/api/v1/outbound", tags=["outbound senders"])

SenderId = Annotated[int, Path(ge=1, le=2**53 - 1)]
Secret = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=r"^[\x21-\x7e]+$")]
Host = Annotated[str, StringConstraints(min_length=1, max_length=253, pattern=r"^[A-Za-z0-9.-]+$")]
KEY = (
    "The phone_number_id of WhatsApp; for SMS a number, a short number, a name or a Messaging Service; or the mail"
    " address."
)


class Credentials(View):
    """What opens an account of the sender's own: that of its channel. It is sealed, and never shown."""

    token: Secret | None = Field(default=None, description="WhatsApp: of a system user that has the number.")
    app_secret: Secret | None = Field(default=None, description="WhatsApp: signs the callbacks of the app.")
    verify_token: Secret | None = Field(default=None, description="WhatsApp: what Meta says when it verifies.")
    account_sid: Secret | None = Field(default=None, description="Twilio.")
    auth_token: Secret | None = Field(default=None, description="Twilio.")
    host: Host | None = Field(default=None, description="Mail: a server that the administrator has listed.")
    port: Annotated[int, Field(ge=1, le=65_535), NUMBER] | None = None
    tls: Annotated[str, StringConstraints(pattern="^(starttls|tls)$")] | None = None
    username: Secret | None = Field(default=None, description="Mail: who logs in.")
    password: Secret | None = None
    bounce_secret: Secret | None = Field(default=None, description="Mail: comes with bounces as X-Bounce-Secret.")


class SenderView(View):
    """A number or an address to send from."""

    channel: Channel
    provider_key: Short = Field(min_length=1, examples=["100200300"], description=KEY)
    display: Annotated[str, StringConstraints(max_length=100, pattern=r"^[^\x00\r\n]*$")] = ""
    account_key: Short | None = Field(default=None, description="The WhatsApp account; without one, callbacks name it.")
    is_default: StrictBool = Field(
        default=False, description="Whether it is the one of its channel where none is named."
    )
    rate: Annotated[float, Field(ge=0.01, le=1000), NUMBER] | None = Field(
        default=None,
        description="Messages a second; null: 80 by WhatsApp, 10 by SMS, 20 by mail. Above that whole multiples of it.",
    )
    reply_to: Short | None = Field(default=None, description="Where answers to its mail go; null: to itself.")
    on_unknown: OnUnknown | None = Field(
        default=None,
        description="When nobody knows whether something was sent: hold for people to decide, or resend. Null: mail"
        " is held, the others are sent again.",
    )


class NewSender(SenderView):
    """A sender as it is set up."""

    credentials: Credentials | None = Field(
        default=None, description="Of an account of its own; without one the installation's is used, if it is granted."
    )


class Record(View):
    """What the owner of a mail domain writes into its zone, as TXT."""

    name: str
    value: str


class StoredSender(SenderView):
    """A sender, whether something may be sent by it, and until when it is held."""

    id: int
    provider: str
    usable: bool = Field(description="Whether it is proven to be yours and has an account: else nothing is sent.")
    proof: str | None = Field(
        description="What proves that it is yours: GRANT, META, DNS, TRUST, BEFORE; null: nothing."
    )
    own_account: bool = Field(description="Whether it has credentials of its own.")
    callback_query: str | None = Field(
        description="Of an own account: what its callback addresses end with, so that we know whose secret signs."
    )
    record: Record | None = Field(description="Of a mail domain that is not proven: what proves it.")
    held_until: datetime | None
    hold_reason: str | None
    outage_since: datetime | None = Field(description="Since when its provider does not answer.")


class Grant(View):
    """What the administrator says of a number, a name, or a mail domain."""

    tenant_id: Name
    channel: Channel
    key: Short = Field(min_length=1, description=f"{KEY} Of mail, a domain too.")
    account: StrictBool = Field(default=True, description="Whether the installation's account may be used for it.")


class Granted(Grant):
    """What is whose."""

    proof: str
    proven_at: datetime
    proven_by: str


@router.put("/senders", needs=SET_UP, raises=(InvalidInput, SecretKeyMissing))
async def set_sender(caller: Who, body: NewSender) -> StoredSender:
    """Add a number or an address to send from, or change it. Nothing goes out by it until it is proven."""
    settings, provider = caller.settings(OutboundSettings), provider_of(body.channel)
    tenant_id = caller.tenant_id
    if not rules.fits_lanes(body.channel, body.rate):
        usual = RATES[body.channel]
        below = (
            f"{body.rate or 0:g}, which is no multiple of {usual}: it would send {(body.rate or 0) // usual * usual:g}"
        )
        raise InvalidInput(
            f"rate is {below} a second",
            hint=f"Above {usual} a second, {body.channel} senders go by whole multiples of it.",
        )
    async with caller.transaction() as conn:
        chosen = await store.organisation(conn, tenant_id)
        key = address.to_sender(body.channel, body.provider_key, chosen.region)
        reply_to = None if body.reply_to is None else address.to_email(body.reply_to, "replyTo")
        sealed = None
        if body.credentials is not None:
            account = accounts.checked(provider, body.credentials.model_dump(), settings)
            sealed = accounts.sealed(caller.vault, tenant_id, provider.name, key, account)
        if body.is_default:
            await store.run(conn, "no_default", tenant_id=tenant_id, channel=body.channel)
        made = await store.one(
            conn,
            "put_sender",
            tenant_id=tenant_id,
            channel=body.channel,
            provider=provider.name,
            provider_key=key,
            display=body.display,
            account_key=body.account_key,
            credentials=sealed,
            on_unknown=body.on_unknown,
            rate=body.rate,
            is_default=body.is_default,
            reply_to=reply_to,
        )
        if made["paced_anew"]:
            await holds.pace_anew(conn, tenant_id, made["id"])
        fields = {"channel": body.channel, "fields": sorted(body.model_fields_set)}
        await audit.note(conn, "set", "sender", str(made["id"]), detail=fields)
    if settings.trusts(tenant_id):
        async with caller.client.transaction() as conn:  # whose something is concerns all tenants
            await ownership.trust(conn, tenant_id, provider.name, key)
    return await _shown(caller, made["id"])


@router.get("/senders", needs=READ)
async def list_senders(caller: Who) -> list[StoredSender]:
    """Return the senders, whether they may be used, and until when they are held."""
    async with caller.transaction() as conn:
        rows = await store.rows(conn, "senders", tenant_id=caller.tenant_id, id=None)
        return [await _view(conn, row) for row in rows]


@router.delete("/senders/{sender_id}", needs=SET_UP, raises=(NotFound, Conflict))
async def delete_sender(caller: Who, sender_id: SenderId) -> dict[str, int]:
    """Take a sender out of use; what it has sent stays. Refused while messages wait for it."""
    async with caller.transaction() as conn:
        await _row(conn, caller.tenant_id, sender_id)
        gone = await store.first(conn, "delete_sender", tenant_id=caller.tenant_id, id=sender_id)
        if gone is None:
            hint = "Cancel them, or wait until they are sent."
            raise Conflict(f"messages wait for sender {sender_id}", hint=hint, sender_id=sender_id)
        details = {"sender_id": sender_id}
        await store.note_audit(conn, caller.tenant_id, "SENDER_DELETED", caller.subject, details=details)
        await store.run(conn, "leave_ownership", tenant_id=caller.tenant_id, **gone)
        await audit.note(conn, "delete", "sender", str(sender_id))
    return {"deleted": sender_id}


@router.post("/senders/{sender_id}/prove", needs=SET_UP, status_code=200, raises=(NotFound, InvalidInput, Conflict))
async def prove_sender(caller: Who, sender_id: SenderId) -> StoredSender:
    """Prove that a sender is yours: Meta is asked for the number, or the domain for its record."""
    tenant_id, settings = caller.tenant_id, caller.settings(OutboundSettings)
    async with caller.transaction() as conn:
        sender = await _sender(conn, tenant_id, sender_id)
        expected = await ownership.challenge(conn, tenant_id, ownership.domain_of(sender))
        now = await database.now(conn)
    account = accounts.settings_of(caller.vault, tenant_id, sender, settings)
    async with pooled(settings.proxy_url, settings.ca_file) as http:  # no transaction is open while others are asked
        proof, key = await ownership.prove(sender, expected, Wire(http, account, now))
    async with caller.client.transaction() as conn:
        await ownership.claim(conn, tenant_id, sender.provider, key, proof=proof, by=caller.subject)
        await _note(conn, caller, "prove", str(sender_id), {"proof": proof})
    return await _shown(caller, sender_id)


@router.post("/senders/{sender_id}/release", needs=OPERATE, status_code=200, raises=(NotFound,))
async def release_sender(caller: Who, sender_id: SenderId) -> dict[str, int]:
    """End the hold of a sender, once its trouble at the provider is fixed: what waits goes now."""
    async with caller.transaction() as conn:
        await holds.release_sender(conn, caller.tenant_id, sender_id, caller.subject)
        await audit.note(conn, "release", "sender", str(sender_id))
    return {"released": sender_id}


@router.get("/grants", needs=GRANT)
async def list_grants(caller: Who, tenant_id: Annotated[str | None, Query(alias="tenantId")] = None) -> list[Granted]:
    """Return who owns which sender, of one tenant or of all, and what proves it."""
    _check_key(caller)
    async with caller.client.transaction() as conn:
        return [_granted(each) for each in await ownership.owners(conn, tenant_id)]


@router.put("/grants", needs=GRANT, raises=(InvalidInput,))
async def grant_sender(caller: Who, body: Grant) -> Granted:
    """Grant a number, a sender name or a mail domain to a tenant, also if another one has it."""
    _check_key(caller)
    async with caller.client.transaction() as conn:
        found = await ownership.grant(
            conn, body.tenant_id, body.channel, body.key, account=body.account, by=caller.subject
        )
        await _note_owner(conn, caller, "grant", found)
    return _granted(found)


@router.delete("/grants", needs=GRANT, raises=(NotFound, InvalidInput))
async def withdraw_sender(
    caller: Who, channel: Channel, key: Annotated[str, Query(min_length=1, max_length=254)]
) -> Granted:
    """Withdraw a number, a sender name or a mail domain: nothing more goes out by it."""
    _check_key(caller)
    async with caller.client.transaction() as conn:
        found = await ownership.withdraw(conn, channel, key, by=caller.subject)
        await _note_owner(conn, caller, "withdraw", found)
    return _granted(found)


def _check_key(caller: Who) -> None:
    """Take only a key that the administrator made: a token's roles are what some tenant's directory says."""
    if caller.key_id is None:
        raise Forbidden("only an API key speaks for the installation", hint="ostinato keys create --role installation")


async def _note_owner(conn: Connection, caller: Who, verb: str, found: Owned) -> None:
    """Record whose something is by now; of a number or an address only what the log may show of it."""
    await _note(conn, caller, verb, redact(found.key), {"channel": str(found.channel), "tenant": found.tenant_id})


async def _note(conn: Connection, caller: Who, verb: str, target: str, detail: dict[str, object]) -> None:
    """Record what was done as no tenant in particular, at the end of its transaction: an entry has its caller's."""
    await tenants.enter(conn, caller.tenant_id, user_id=caller.subject, key_id=caller.key_id)
    await audit.note(conn, verb, "sender", target, detail=detail)


def _granted(found: Owned) -> Granted:
    return Granted.model_validate(found)


async def _sender(conn: Connection, tenant_id: str, sender_id: int) -> Sender:
    return store.made(Sender, await _row(conn, tenant_id, sender_id))


async def _row(conn: Connection, tenant_id: str, sender_id: int) -> Row:
    row = await store.first(conn, "senders", tenant_id=tenant_id, id=sender_id)
    if row is None:
        raise NotFound(f"there is no sender {sender_id}", sender_id=sender_id)
    return row


async def _shown(caller: Who, sender_id: int) -> StoredSender:
    async with caller.transaction() as conn:
        return await _view(conn, await _row(conn, caller.tenant_id, sender_id))


async def _view(conn: Connection, row: Row) -> StoredSender:
    own = row["credentials"] is not None
    more: dict[str, Any] = {"own_account": own, "callback_query": f"?account={row['hook']}" if own else None}
    more["record"] = None
    if row["channel"] == Channel.EMAIL and row["proof"] is None:
        domain = ownership.domain_of(store.made(Sender, row))
        value = await ownership.challenge(conn, row["tenant_id"], domain)
        more["record"] = Record(name=f"{RECORD}.{domain}", value=value)
    names = [name for name in StoredSender.model_fields if name not in more]
    return StoredSender(**{name: row[name] for name in names}, **more)
