"""The same request twice has one effect and one answer; another one under its key is a conflict.

    from ostinato.idempotency import Declaration, once

    PAYMENT = Declaration(include=("account", "amount"), exclude=("trace",))

    async with client.connection() as conn, once(conn, "pay", key, payload, PAYMENT) as request:
        if request.is_new:                      # key, writes and answer are one commit
            request.answer = {"receipt": 1}

`once_outside` is for work outside of the database. `canonical` and `sha256` are the text and the
fingerprint that requests are compared by (RFC 8785). The guide is `docs/idempotency.md`.
An application that keeps keys longer than the engine does stores the fields of its fingerprint
beside its own row, and `differing` names those that are not the same.
"""

from ostinato._core.base.canonical import Declaration, Fingerprint, canonical, differing, parse, sha256
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
from ostinato._core.engine.idempotency_keys import KeyLine, list_keys

__all__ = [
    "Answer",
    "Decision",
    "Declaration",
    "Differs",
    "Fingerprint",
    "InFlight",
    "KeyLine",
    "New",
    "Once",
    "Replay",
    "abandon",
    "begin",
    "canonical",
    "differing",
    "finish",
    "list_keys",
    "once",
    "once_outside",
    "parse",
    "refuse",
    "renew",
    "sha256",
]
