"""Plays the scenario "webhook": an event reaches a receiver that fails twice, signed, once."""

import json
from typing import Any

from ostinato._core.base.backoff import Retry
from ostinato._core.base.safeurl import parse_allowed
from ostinato._core.engine import outbox, webhooks
from ostinato._core.engine.outbox import NewEvent
from ostinato._core.runtime.observe.scenario import Scenario, System

FAILURES = 2
SOON = Retry(delays=(0.2, 0.2, 1.0, 1.0))


async def run(system: System) -> None:
    """Add an endpoint, emit an event, and look at what the receiver got."""
    client = system.client()
    name = f"demo-{system.run}"
    kind = f"demo.told_{system.run}"
    receiver = f"/hooks/{name}"
    script = ",".join(["503"] * FAILURES + ["200"])
    await system.tell_sandbox("POST", "/_sandbox/faults", status=204, json={"path": receiver, "script": script})
    assert system.sandbox is not None  # noqa: S101 - it was just called
    place = system.sandbox.base_url
    async with client.connection() as conn:
        made = await webhooks.create_endpoint(
            conn,
            name,
            f"{place}".rstrip("/") + receiver,
            event_types=[kind],
            tenant_id=system.tenant_id,
            description="of a demo",
            retry=SOON,
            allowed=parse_allowed(f"{place.host}:{place.port}"),
        )
    try:
        secret = {"secret": made.secret}
        await system.tell_sandbox("PUT", f"/_sandbox/hooks/{name}", status=204, json=secret)
        await _emit(system, kind)
        await _look(system, name, receiver)
    finally:
        async with client.connection() as conn:
            await webhooks.remove_endpoint(conn, name, tenant_id=system.tenant_id)


async def _emit(system: System, kind: str) -> None:
    async with system.client().for_tenant(system.tenant_id).transaction() as conn:
        await outbox.emit(
            conn, NewEvent(kind, json.dumps({"run": system.run}), producer="demo", correlation_id=f"demo-{system.run}")
        )
    system.proved("an event is emitted in the caller's transaction")


async def _look(system: System, name: str, receiver: str) -> None:
    async def look() -> list[dict[str, Any]] | None:
        found = (await system.tell_sandbox("GET", f"/_sandbox/hooks/{name}")).json()
        return found["messages"] or None

    messages = await system.until("the receiver has the message", look)
    calls = (await system.tell_sandbox("GET", "/_sandbox/calls", params={"path": receiver})).json()
    statuses = [call["status"] for call in calls["calls"]]
    system.check(
        "a receiver that is away twice gets it at the third attempt", statuses == [503] * FAILURES + [200], statuses
    )
    system.check(
        "signed as Standard Webhooks asks, checked by the receiver, and once",
        len(messages) == 1 and messages[0]["times"] == 1,
        messages,
    )
    ids = {call["headers"].get("webhook-id") for call in calls["calls"]}
    system.check("every attempt has the same id", ids == {messages[0]["id"]}, ids)
    body = json.loads(messages[0]["body"])
    system.check("the body is the event that was emitted", system.run in str(body), body)


WEBHOOK = Scenario(
    "webhook", "An event emitted in a transaction reaches a receiver that fails twice: signed, once.", run
)
