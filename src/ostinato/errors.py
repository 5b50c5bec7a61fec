"""Errors: each says what happened, with which values, and what to do about it.

    from ostinato import errors

    try:
        await send_invoice.enqueue(conn, invoice_id=7)
    except errors.UniqueConflict as error:
        print(error.code, error.values, error.hint)     # and `error.status` where HTTP answers it

All of them are an `OstinatoError`. `docs/reference/errors.md` lists their codes, SQLSTATEs, HTTP
statuses and exit codes.
"""

from ostinato._core.base.errors import (
    BodyTooLarge,
    CommitUnknown,
    Conflict,
    ContractMismatch,
    DatabaseUnavailable,
    EmbeddedError,
    Forbidden,
    HeaderMissing,
    IdempotencyConflict,
    IllegalTransition,
    InvalidInput,
    InvariantBroken,
    LeaseHeld,
    LeaseLost,
    MediaTypeRefused,
    MethodRefused,
    MigrationError,
    NoAnswer,
    NotConfigured,
    NotFound,
    OstinatoError,
    RequestInFlight,
    RequestRefused,
    RetryAfter,
    SettingsError,
    SignatureMismatch,
    SignatureRefused,
    StepMismatch,
    TimestampRefused,
    TooManyRequests,
    TransactionIdle,
    Unauthenticated,
    UniqueConflict,
    UnsafeAddress,
    WebhookReplayed,
    WrongState,
)

__all__ = [
    "BodyTooLarge",
    "CommitUnknown",
    "Conflict",
    "ContractMismatch",
    "DatabaseUnavailable",
    "EmbeddedError",
    "Forbidden",
    "HeaderMissing",
    "IdempotencyConflict",
    "IllegalTransition",
    "InvalidInput",
    "InvariantBroken",
    "LeaseHeld",
    "LeaseLost",
    "MediaTypeRefused",
    "MethodRefused",
    "MigrationError",
    "NoAnswer",
    "NotConfigured",
    "NotFound",
    "OstinatoError",
    "RequestInFlight",
    "RequestRefused",
    "RetryAfter",
    "SettingsError",
    "SignatureMismatch",
    "SignatureRefused",
    "StepMismatch",
    "TimestampRefused",
    "TooManyRequests",
    "TransactionIdle",
    "Unauthenticated",
    "UniqueConflict",
    "UnsafeAddress",
    "WebhookReplayed",
    "WrongState",
]
