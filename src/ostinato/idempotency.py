"""Idempotency: the same request twice has one effect and one answer; another one is a conflict.

    request = Declaration({"amount": 12, "to": "acme"})

    async with idempotency.once(client, "payments", key, request) as work:
        if work.is_new:
            await work.conn.execute("insert into payment …")
            work.answer({"payment": 7})

`canonical` and `sha256` are the text and the fingerprint that requests are compared by (RFC 8785).
Whoever keeps keys longer than the engine's year stores `Declaration.fingerprint(…).fields` beside
its own row, and `differing` names the fields that are not the same.
"""

from ostinato._core.base.canonical import (
    Declaration,
    Fingerprint,
    canonical,
    differing,
    parse,
    sha256,
)
from ostinato._core.engine.idempotency import (
    Answer,
    Decision,
    Differs,
    InFlight,
    New,
    Once,
    Replay,
    abandon,
    begin,
    finish,
    once,
    once_outside,
    refuse,
    renew,
)

__all__ = [
    "Answer",
    "Decision",
    "Declaration",
    "Differs",
    "Fingerprint",
    "InFlight",
    "New",
    "Once",
    "Replay",
    "abandon",
    "begin",
    "canonical",
    "differing",
    "finish",
    "once",
    "once_outside",
    "parse",
    "refuse",
    "renew",
    "sha256",
]
