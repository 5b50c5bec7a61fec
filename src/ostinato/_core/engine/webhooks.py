"""A webhook endpoint is a URL that events are sent to, with its secrets; messages that come in are here too.

    made = await webhooks.create_endpoint(conn, "orders", "https://shop.example/hooks")
    made.secret                                        # shown this once: hand it to the receiver
    await webhooks.rotate(conn, "orders")              # the old one stays valid for a day

What is sent to an endpoint is in `engine.webhook_deliveries`; a program that receives webhooks uses
`receive`. Every function works in the transaction of the connection it is given. The logic is in
`sql/functions/webhooks.sql`; the fields of each class are the columns of its SQL function.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from psycopg.rows import class_row

from ostinato._core.base import backoff
from ostinato._core.base.backoff import Retry
from ostinato._core.base.errors import NotFound, SecretKeyMissing, SecretRefused, WebhookReplayed
from ostinato._core.base.safeurl import Allowed, parse
from ostinato._core.base.vault import SealedColumn, Vault, is_sealed
from ostinato._core.base.webhooks import (
    TOLERANCE_SECONDS,
    Verified,
    check_header_values,
    check_secret,
    hint_of,
    make_secret,
    verify,
)
from ostinato._core.db.call import Connection, call, call_as, call_value
from ostinato._core.engine import clock
from ostinato._core.engine.secrets import vault_of

DAY = 86_400.0
KEY_BYTES = 32

SECRET = SealedColumn("ostinato_data.webhook_secret", "secret", bound_to=("endpoint_id",))
"""Where the secrets of endpoints are, each bound to its endpoint, and so to the tenant of it."""

HEADERS = SealedColumn("ostinato_data.webhook_endpoint", "header_values", bound_to=("id",))
"""Where the static headers of endpoints are: those of one in one text, bound to it."""


class Created(NamedTuple):
    """A new endpoint and its secret, which nothing shows again."""

    id: int
    secret: str

    def __repr__(self) -> str:
        return f"Created(id={self.id}, secret='whsec_***')"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint as people see it: only the ends of its secrets and the names of its headers."""

    endpoint_id: int
    tenant_id: str
    name: str
    url: str
    event_types: list[str]
    state: Literal["active", "paused", "disabled"]
    reason: str | None
    """Why it is paused or disabled."""
    description: str
    header_names: list[str]
    retry: Any
    timeout_seconds: float
    disable_after_seconds: float
    ordered: bool
    created_at: datetime
    failing_since: datetime | None
    """The first failure since the last delivery."""
    secret_hints: list[str]
    """The last four characters of each valid secret, in the order in which they sign."""
    secret_expiries: list[datetime | None]
    pending: int
    waiting: int
    held: int
    dead: int
    last_delivered_at: datetime | None


async def create_endpoint(
    conn: Connection,
    name: str,
    url: str,
    *,
    event_types: Sequence[str] = ("*",),
    tenant_id: str | None = None,
    description: str = "",
    headers: Mapping[str, str] | None = None,
    retry: Retry | None = None,
    timeout_seconds: float = 5.0,
    disable_after_seconds: float = 5 * DAY,
    ordered: bool = True,
    secret: str | None = None,
    allowed: Allowed = (),
) -> Created:
    """Add an endpoint: from now on it gets the tenant's events of these types.

    The secret, made here unless one is given, and the values of headers are sealed with the vault
    of the connection, or that of this process. `order.paid` is a type, `order.*` means all that begin
    so, `*` all. With `ordered`, events with the same key are sent one after the other. `allowed` are
    inner addresses that may be called
    (`safeurl.parse_allowed`); without it only public ones may.
    """
    address = parse(url, allowed).url
    clear = _checked(secret)
    endpoint_id = int(await call_value(conn, "new_id"))
    await call(
        conn,
        "create_webhook_endpoint",
        name=name,
        url=address,
        event_types=list(event_types),
        tenant_id=tenant_id,
        description=description,
        headers=_names(headers or {}),
        header_values=_sealed(conn, endpoint_id, headers or {}),
        retry=None if retry is None else json.dumps(backoff.to_json(retry)),
        timeout_seconds=timeout_seconds,
        disable_after_seconds=disable_after_seconds,
        ordered=ordered,
        endpoint_id=endpoint_id,
        secret=vault_of(conn).seal(clear, purpose=SECRET.purpose(endpoint_id)),
        secret_hint=hint_of(clear),
    )
    return Created(endpoint_id, clear)


async def change_endpoint(
    conn: Connection,
    name: str,
    *,
    tenant_id: str | None = None,
    url: str | None = None,
    event_types: Sequence[str] | None = None,
    description: str | None = None,
    headers: Mapping[str, str] | None = None,
    retry: Retry | None = None,
    timeout_seconds: float | None = None,
    disable_after_seconds: float | None = None,
    allowed: Allowed = (),
) -> None:
    """Change the given fields; deliveries under way go to the new URL. New headers replace all those before."""
    values = None
    if headers:
        endpoint_id = int(await call_value(conn, "webhook_endpoint_id", name=name, tenant_id=tenant_id))
        values = _sealed(conn, endpoint_id, headers)
    await call(
        conn,
        "change_webhook_endpoint",
        name=name,
        tenant_id=tenant_id,
        url=None if url is None else parse(url, allowed).url,
        event_types=None if event_types is None else list(event_types),
        description=description,
        retry=None if retry is None else json.dumps(backoff.to_json(retry)),
        timeout_seconds=timeout_seconds,
        disable_after_seconds=disable_after_seconds,
        headers=None if headers is None else _names(headers),
        header_values=values,
    )


async def remove_endpoint(conn: Connection, name: str, *, tenant_id: str | None = None) -> None:
    """Remove an endpoint with all its deliveries."""
    await call(conn, "remove_webhook_endpoint", name=name, tenant_id=tenant_id)


async def rotate(
    conn: Connection,
    name: str,
    *,
    overlap_seconds: float = DAY,
    tenant_id: str | None = None,
    secret: str | None = None,
) -> str:
    """Give an endpoint a new secret and return it; the old one stays valid for the overlap."""
    clear = _checked(secret)
    endpoint_id = await call_value(conn, "webhook_endpoint_id", name=name, tenant_id=tenant_id)
    await call(
        conn,
        "rotate_webhook_secret",
        name=name,
        overlap_seconds=overlap_seconds,
        tenant_id=tenant_id,
        secret=vault_of(conn).seal(clear, purpose=SECRET.purpose(endpoint_id)),
        secret_hint=hint_of(clear),
    )
    return clear


def open_secrets(vault: Vault, endpoint_id: int, stored: Sequence[str]) -> list[str]:
    """Return the secrets of an endpoint, to sign with.

    One of before the vault is in the clear until `ostinato secrets rotate` seals it. While a key is
    rotated a process may lack that of one secret: the others sign, as long as there is one.
    """
    opened, refused = [], None
    for secret in stored:
        try:
            opened.append(vault.open(secret, purpose=SECRET.purpose(endpoint_id)) if is_sealed(secret) else secret)
        except (SecretKeyMissing, SecretRefused) as error:
            refused = error
    if refused is not None and not opened:
        raise refused
    return opened


def open_headers(vault: Vault, endpoint_id: int, stored: Mapping[str, str] | str) -> Mapping[str, str]:
    """Return the static headers of an endpoint; those of before they were sealed come in the clear."""
    if not isinstance(stored, str):
        return stored
    opened: dict[str, str] = json.loads(vault.open(stored, purpose=HEADERS.purpose(endpoint_id)))
    return opened


def _names(headers: Mapping[str, str]) -> str:
    """Return the names of headers, which stay readable, as they are stored."""
    return json.dumps(dict.fromkeys(headers, ""))


def _sealed(conn: Connection, endpoint_id: int, headers: Mapping[str, str]) -> str | None:
    """Return headers as they are stored beside their names."""
    check_header_values(headers)
    text = json.dumps(dict(headers))
    return vault_of(conn).seal(text, purpose=HEADERS.purpose(endpoint_id)) if headers else None


async def pause(conn: Connection, name: str, *, reason: str | None = None, tenant_id: str | None = None) -> None:
    """Stop deliveries to an endpoint; new ones are held until it is resumed."""
    await call(conn, "pause_webhook_endpoint", name=name, reason=reason, tenant_id=tenant_id)


async def resume(conn: Connection, name: str, *, tenant_id: str | None = None) -> int:
    """Resume deliveries to a paused or disabled endpoint; returns how many were held."""
    return int(await call_value(conn, "resume_webhook_endpoint", name=name, tenant_id=tenant_id))


async def list_endpoints(
    conn: Connection,
    *,
    tenant_id: str | None = None,
    name: str | None = None,
    failing: bool = False,
    after: tuple[str, str] | None = None,
    most: int | None = None,
    sample: int = 10_000,
) -> list[Endpoint]:
    """Return the endpoints of a tenant, or of all, by tenant and name.

    Args:
        conn: A connection of a worker.
        tenant_id: Whose; None means of all tenants.
        name: Only the one of this name.
        failing: Only those that refuse, or that nothing is sent to.
        after: Only those after this tenant and name.
        most: So many at most; None means all.
        sample: The counts are of so many deliveries of each, the newest.

    """
    return await call_as(
        conn,
        class_row(Endpoint),
        "list_webhook_endpoints",
        _read=True,
        tenant_id=tenant_id,
        name=name,
        failing=failing,
        after=None if after is None else list(after),
        most=most,
        sample=sample,
    )


async def show_endpoint(conn: Connection, name: str, *, tenant_id: str = "default") -> Endpoint:
    """Return one endpoint."""
    found = await list_endpoints(conn, tenant_id=tenant_id, name=name)
    if not found:
        raise NotFound(
            f"tenant {tenant_id} has no webhook endpoint {name!r}",
            hint="See them with: ostinato webhooks list",
            name=name,
        )
    return found[0]


async def receive(
    conn: Connection,
    source: str,
    headers: Mapping[str, str],
    raw_body: bytes,
    secrets: Sequence[str],
    *,
    tolerance: float = TOLERANCE_SECONDS,
    tenant_id: str | None = None,
) -> Verified:
    """Accept a received message, in the transaction of its effects, or refuse it.

    Raises `SignatureRefused` when it is not what its sender signed, and `WebhookReplayed` when one
    with its id was accepted before.
    """
    now = (await clock.now(conn)).timestamp()
    found = verify(headers, raw_body, secrets, tolerance, now=now)
    # As long as the signature stays valid, and some more for clocks that differ.
    keep = 2 * tolerance + TOLERANCE_SECONDS
    new = await call_value(
        conn, "accept_webhook", source=source, message_id=found.id, keep_seconds=keep, tenant_id=tenant_id
    )
    if not new:
        raise WebhookReplayed(f"message {found.id} of {source} came before", message_id=found.id)
    return found


def _checked(secret: str | None) -> str:
    """Return the secret that was given, if it is one, or a new one."""
    if secret is None:
        return make_secret(secrets.token_bytes(KEY_BYTES))
    check_secret(secret)
    return secret
