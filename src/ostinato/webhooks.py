"""A webhook delivers events to another server: signed, retried, and never to an inner address.

    from ostinato import webhooks

    made = await webhooks.create_endpoint(conn, "till", "https://shop.example/hooks")
    print(made.secret)                                          # shown once: hand it over

The receiver checks the signature of the raw body, with any web framework:

    webhooks.verify(headers, raw_body, [secret], now=time.time())       # or SignatureRefused

Signatures follow Standard Webhooks 1.0. The guide is `docs/webhooks.md`.
"""

from ostinato._core.base.safeurl import Allowed, check_address, parse, parse_allowed
from ostinato._core.base.webhooks import Verified, make_secret, sign, signed_headers, verify
from ostinato._core.engine.webhook_deliveries import Attempt, Delivery, list_attempts, list_deliveries, redeliver
from ostinato._core.engine.webhooks import (
    Created,
    Endpoint,
    change_endpoint,
    create_endpoint,
    list_endpoints,
    pause,
    receive,
    remove_endpoint,
    resume,
    rotate,
    show_endpoint,
)
from ostinato._core.runtime.services.webhooks import app

__all__ = [
    "Allowed",
    "Attempt",
    "Created",
    "Delivery",
    "Endpoint",
    "Verified",
    "app",
    "change_endpoint",
    "check_address",
    "create_endpoint",
    "list_attempts",
    "list_deliveries",
    "list_endpoints",
    "make_secret",
    "parse",
    "parse_allowed",
    "pause",
    "receive",
    "redeliver",
    "remove_endpoint",
    "resume",
    "rotate",
    "show_endpoint",
    "sign",
    "signed_headers",
    "verify",
]
