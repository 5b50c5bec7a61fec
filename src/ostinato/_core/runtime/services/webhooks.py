"""Delivers webhooks: a job for each message and endpoint, and the service that adds the jobs.

    Worker([my_app], …)                              every worker delivers, without any set-up
    await engine.run_until_idle(webhooks.app())      in a test

A delivery starts (what to send, and where), sends, and settles: delivered in the statement that
completes the job, not delivered in a transaction that is fenced by it. So a late worker changes nothing, and
a message that was sent and not settled is sent again, with the same id and the same bytes. What
an answer means is decided in `judge`, what comes next in `sql/functions/webhooks.sql`.
"""

import random
import ssl
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from psycopg import AsyncConnection

from ostinato._core.base import backoff
from ostinato._core.base.backoff import Retry
from ostinato._core.base.errors import (
    CommitUnknown,
    DatabaseUnavailable,
    InvalidInput,
    LeaseLost,
    NoAnswer,
    RetryAfter,
    SecretKeyMissing,
    SecretRefused,
    UnsafeAddress,
)
from ostinato._core.base.metrics import WEBHOOK_ATTEMPTS, WEBHOOK_SECONDS, Recorder
from ostinato._core.base.redact import MASK, redact
from ostinato._core.base.retryafter import retry_after_seconds
from ostinato._core.base.safeurl import Allowed, parse_allowed
from ostinato._core.base.settings import Settings
from ostinato._core.base.signature import storable
from ostinato._core.base.together import Together
from ostinato._core.base.vault import Vault
from ostinato._core.base.webhooks import signed_headers
from ostinato._core.engine import webhook_deliveries
from ostinato._core.engine.secrets import vault_of
from ostinato._core.engine.webhook_deliveries import Sending, Taken
from ostinato._core.engine.webhooks import open_headers, open_secrets
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.handlers.context import Context
from ostinato._core.runtime.handlers.outcomes import Snooze
from ostinato._core.runtime.services.names import Names

if TYPE_CHECKING:
    from ostinato._core.runtime.services.kept import Kept
    from ostinato._core.runtime.services.safehttp import Answer, Resolver

QUEUE = "webhooks"
APP_NAME = "webhooks"
KIND = f"{APP_NAME}.deliver"
CONTENT_TYPE = "application/cloudevents+json; charset=utf-8"
USER_AGENT = "ostinato-webhooks"
AGAIN_SECONDS = 1.0
NO_KEY_SECONDS = 30.0
ANSWER_LENGTH = 500
MOST_TAKEN = 50
"""So many deliveries of an endpoint are settled by one statement at the most."""
ASKED_LATER = (429, 503)
GONE = 410

Taking = Together[Taken, str]
Beginning = Together[tuple[int, int], Sending]
"""Deliveries and their jobs, that begin at the same moment."""
"""Settles what receivers took, by endpoint."""


class DeliveryFailed(Exception):
    """A message was not delivered, and its attempts are used up."""


class ReceiverGone(DeliveryFailed):
    """The receiver answered 410: it does not exist any more."""


@dataclass(frozen=True, slots=True)
class Met:
    """The result of an attempt."""

    outcome: str
    """delivered, failed (by its status), gone, refused (by us), timeout, dns, connect, tls, reset,
    protocol."""
    status: int | None = None
    milliseconds: int = 0
    answer: str | None = None
    error: str | None = None
    retry_after: float | None = None
    """Seconds that the receiver asked for."""


class Sender:
    """Signs and sends messages."""

    def __init__(
        self,
        allowed: Allowed = (),
        recorder: Recorder | None = None,
        *,
        resolver: "Resolver | None" = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._allowed = allowed
        self._recorder = recorder
        self._resolver = resolver
        self._names = Names()
        self._tls = tls

    async def send(self, sending: Sending, vault: Vault, kept: "Kept | None" = None) -> Met:
        """Send a message and return the result; the other side cannot make it raise."""
        secrets = open_secrets(vault, sending.endpoint_id, sending.secrets)
        headers = open_headers(vault, sending.endpoint_id, sending.headers)
        started = time.perf_counter()
        try:
            answer = await self._post(sending, headers, secrets, kept)
            met = judge(answer, sending.sent_at, hidden=tuple(headers.values()))
        except UnsafeAddress as error:
            met = Met("refused", error=error.message)
        except NoAnswer as error:
            met = Met(str(error.values["outcome"]), error=error.message)
        seconds = time.perf_counter() - started
        if self._recorder is not None:
            self._recorder.add(WEBHOOK_ATTEMPTS, met.outcome)
            self._recorder.observe(WEBHOOK_SECONDS, seconds)
        return Met(met.outcome, met.status, int(1000 * seconds), met.answer, met.error, met.retry_after)

    async def _post(
        self, sending: Sending, headers: Mapping[str, str], secrets: Sequence[str], kept: "Kept | None"
    ) -> "Answer":
        # Importing the HTTP client takes long: only a process that sends something waits for it.
        from ostinato._core.runtime.services.safehttp import post  # noqa: PLC0415

        body = sending.body.encode("utf-8")
        signed = signed_headers(sending.event_id, int(sending.sent_at.timestamp()), body, secrets)
        static = {name.lower(): value for name, value in headers.items()}
        return await post(
            sending.url,
            body,
            {"user-agent": USER_AGENT, "accept": "*/*", **static, "content-type": CONTENT_TYPE, **signed},
            allowed=self._allowed,
            seconds=sending.timeout_seconds,
            resolver=self._resolver or self._names.of(sending.tenant_id),
            tls=self._tls,
            kept=kept,
        )


@asynccontextmanager
async def connections() -> "AsyncIterator[Kept]":
    """Keep connections to receivers for as long as a worker lives."""
    from ostinato._core.runtime.services.kept import Kept  # noqa: PLC0415 - as above

    kept = Kept()
    try:
        yield kept
    finally:
        await kept.aclose()


def judge(answer: "Answer", now: datetime, hidden: tuple[str, ...] = ()) -> Met:
    """Judge an answer: 2xx is delivered, 410 ends the endpoint, all else is a failure."""
    status = answer.status
    text = _shown(answer, hidden)
    if 200 <= status < 300:  # noqa: PLR2004 - success, as HTTP has it
        return Met("delivered", status, answer=text)
    if status == GONE:
        return Met("gone", status, answer=text, error="answered 410 Gone")
    redirect = 300 <= status < 400  # noqa: PLR2004 - redirection, as HTTP has it
    error = f"answered {status}" + (": redirects are not followed" if redirect else "")
    asked = answer.headers.get("retry-after") if status in ASKED_LATER else None
    return Met("failed", status, answer=text, error=error, retry_after=retry_after_seconds(asked, now))


def app(
    settings: Settings | None = None,
    recorder: Recorder | None = None,
    *,
    resolver: "Resolver | None" = None,
    tls: ssl.SSLContext | None = None,
    rng: random.Random | None = None,
) -> App:
    """Return the app whose one kind of job delivers webhooks. Every worker has it."""
    allowed = parse_allowed((settings or Settings()).webhooks_allow_private)
    sender = Sender(allowed, recorder, resolver=resolver, tls=tls)
    chance = rng or random.Random()  # noqa: S311  # spreads load, guards nothing
    made = App(APP_NAME)
    beginning, taking = Beginning(MOST_TAKEN), Taking(MOST_TAKEN)

    @made.job(queue=QUEUE, retry=Retry(permanent=(ReceiverGone,)))
    async def deliver(ctx: Context, delivery: int) -> Snooze | None:
        try:
            await _deliver(ctx, delivery, sender, chance, beginning, taking)
        except (CommitUnknown, DatabaseUnavailable) as error:
            # An error of our own uses up no attempt at the receiver.
            ctx.log.warning("webhook_put_off", error=error.message)
            return Snooze(AGAIN_SECONDS * chance.uniform(0.5, 1.5))
        except (SecretKeyMissing, SecretRefused) as error:
            # The same: this worker has not the key, and another one, or this one later, may have it.
            ctx.log.warning("webhook_not_signed", error=error.message, hint=error.hint)
            return Snooze(NO_KEY_SECONDS * chance.uniform(0.5, 1.5))
        return None

    return made


def with_app(apps: Sequence[App], settings: Settings, recorder: Recorder, rng: random.Random) -> list[App]:
    """Return some apps and the one that delivers webhooks, unless it is among them."""
    if any(given.name == APP_NAME for given in apps):
        return list(apps)
    return [*apps, app(settings, recorder, rng=rng)]


async def probe(
    conn: AsyncConnection[Any], name: str, *, tenant_id: str | None = None, settings: Settings | None = None
) -> Met:
    """Send a test message to an endpoint, now and from here, and return the result."""
    sending = await webhook_deliveries.probe(conn, name, tenant_id=tenant_id)
    allowed = parse_allowed((settings or Settings()).webhooks_allow_private)
    return await Sender(allowed).send(sending, vault_of(conn))


async def _deliver(  # noqa: PLR0917 - what it needs
    ctx: Context, delivery: int, sender: Sender, rng: random.Random, beginning: Beginning, taking: Taking
) -> None:
    async def begin(wanted: list[tuple[int, int]]) -> list[Sending]:
        async with ctx._services.connection() as conn:  # noqa: SLF001  # this is the engine's own
            return await webhook_deliveries.start(conn, wanted)

    sending = await beginning.add(ctx.job.tenant_id, (delivery, ctx.job.id), begin)
    if sending.verdict != "send":
        return
    met = await sender.send(sending, ctx.vault, await ctx.shared(connections))
    delay = None if met.outcome == "delivered" else _delay(ctx, sending, met, rng)
    verdict = await _settled(ctx, sending.endpoint_id, delivery, met, delay, taking)
    if verdict == "delivered":
        return
    what = f"webhook endpoint {sending.endpoint} of {sending.tenant_id}: {met.error}"
    ctx.log.warning(
        "webhook_not_delivered", endpoint=sending.endpoint, outcome=met.outcome, status=met.status, verdict=verdict
    )
    if verdict == "retry" and delay is not None:
        raise RetryAfter(delay, what)
    if verdict == "dead":
        raise ReceiverGone(what) if met.outcome == "gone" else DeliveryFailed(what)


async def _settled(  # noqa: PLR0917 - what was sent, what it met, and how that is stored
    ctx: Context, endpoint: int, delivery: int, met: Met, delay: float | None, taking: Taking
) -> str:
    """Settle, and retry on trouble of the database, so that a sent message is not sent again."""
    unsure = False
    for last_time in (False, False, True):
        try:
            if met.outcome == "delivered":
                return await _completed(ctx, endpoint, delivery, met, taking)
            async with ctx._services.transaction() as conn:  # noqa: SLF001  # as above
                verdict = await _settle(conn, delivery, ctx.job.id, met, delay)
                await ctx.fence(conn)  # last: rows of webhooks are locked before claims
                return verdict
        except LeaseLost:
            if not unsure:
                raise
            ctx.settled = True  # the statement without an answer took effect: nothing is left to write
            return "delivered"
        except (CommitUnknown, DatabaseUnavailable) as error:
            unsure = unsure or isinstance(error, CommitUnknown)
            if last_time or (unsure and met.outcome != "delivered"):
                raise
    raise AssertionError("unreachable")


async def _completed(ctx: Context, endpoint: int, delivery: int, met: Met, taking: Taking) -> str:
    """Settle what was delivered and complete the job, in one statement with others of the endpoint that wait for it."""
    await ctx.set_apart()

    async def complete(taken: list[Taken]) -> list[str]:
        async with ctx._services.connection() as conn:  # noqa: SLF001  # as above
            return await webhook_deliveries.complete(conn, taken)

    own = Taken(delivery, ctx.job, met.status, met.milliseconds, met.answer, ctx.milliseconds())
    verdict = await taking.add(endpoint, own, complete)
    ctx.settled = True
    return verdict


async def _settle(conn: AsyncConnection[Any], delivery: int, job_id: int, met: Met, delay: float | None) -> str:
    return await webhook_deliveries.settle(
        conn,
        delivery,
        job_id,
        outcome=met.outcome,
        status=met.status,
        duration_ms=met.milliseconds,
        answer=met.answer,
        error=met.error,
        retry_seconds=delay,
    )


def _delay(ctx: Context, sending: Sending, met: Met, rng: random.Random) -> float | None:
    """Return the seconds until the next attempt, not sooner than the receiver asks; None means no more."""
    try:
        policy = backoff.from_json(sending.retry)
    except (InvalidInput, TypeError):
        policy = Retry()  # one that was written in plain SQL and is not valid
    failures = ctx.job.failures + 1
    most = ctx.job.max_attempts or policy.max_attempts
    if failures >= most:
        return None
    # With fewer attempts in the policy than the job was given, the last delay repeats.
    delay = backoff.next_delay(policy, min(failures, max(policy.max_attempts - 1, 1)), rng) or 0.0
    return max(delay, met.retry_after or 0.0)


def _shown(answer: "Answer", hidden: tuple[str, ...]) -> str | None:
    """Return the start of an answer for people: no control characters, and none of our own secrets.

    A receiver may send back what it was sent, static headers included.
    """
    text = answer.body[: 4 * ANSWER_LENGTH].decode("utf-8", "replace")
    for value in hidden:
        if value:
            text = text.replace(value, MASK)
    clean = "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)
    return storable(redact(clean, ANSWER_LENGTH)) or None
