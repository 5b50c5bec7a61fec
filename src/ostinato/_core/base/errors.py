"""Every error that Ostinato raises, in one tree.

    OstinatoError
    ├── InvalidInput          OS400   the caller handed over something unusable
    ├── NotFound              OS404   there is no such job, queue, worker, …
    ├── Conflict              OS409   it clashes with something that is already there
    │   ├── UniqueConflict    OS411   a live job already holds the unique key
    │   ├── LeaseHeld         OS423   another holder has the lease
    │   ├── IdempotencyConflict       the key was used for another request
    │   └── RequestInFlight           the same request is being worked on
    ├── SignatureRefused              a webhook that came in is not what its sender signed
    │   ├── HeaderMissing             a header of the signature is not there
    │   ├── TimestampRefused          it is too old, or from the future
    │   ├── SignatureMismatch         no known secret signed it
    │   └── WebhookReplayed           a message with this id was accepted before
    ├── RequestRefused                an HTTP request cannot be read as it is
    │   ├── MethodRefused             the path knows other methods
    │   ├── BodyTooLarge              the body is larger than the limit
    │   └── MediaTypeRefused          the body is not JSON, or is compressed
    ├── Unauthenticated               the request does not identify its caller
    ├── Forbidden                     the caller's roles do not allow it
    ├── TooManyRequests               the caller asks faster than it may
    ├── UnsafeAddress                 a URL leads, or may lead, into an inner network
    ├── NoAnswer                      another server did not answer; trying again may help
    ├── LeaseLost             OS410   this attempt no longer owns the job
    ├── WrongState            OS412   the verb does not apply in the job's state
    │   ├── IllegalTransition OS424   a machine does not list this change of state
    │   └── InvariantBroken   OS425   what holds in a state would not hold any more
    ├── StepMismatch                  the code takes other steps than those stored
    ├── DatabaseUnavailable           no answer from PostgreSQL; trying again may help
    ├── TransactionIdle               a transaction was left open without a statement for too long
    ├── CommitUnknown                 the commit may or may not have happened
    ├── ContractMismatch      OS426   this code and the schema do not fit together
    ├── EmbeddedError                 the embedded server could not be run
    ├── MigrationError                a migration could not be applied
    ├── SecretRefused                 a sealed secret does not open
    │   ├── SecretKeyUnknown          the key that it was sealed with is not configured
    │   └── SecretTampered            it was changed, or sealed for another purpose
    ├── SettingsError                 a setting is unknown, ill-typed or out of range
    ├── NotConfigured                 something needed was never set up
    │   └── SecretKeyMissing          a secret cannot be sealed or opened without a key
    ├── JobFailed                     the job that a caller waited for is a dead letter (enderrors.py)
    ├── JobCancelled                  the job that a caller waited for was cancelled
    ├── StillRunning                  the job that a caller waited for has not ended in time
    ├── BackupFailed                  a copy of the server could not be made, verified or restored
    ├── TenantMoved           OS421   the tenant lives in another cell, or is on its way there
    ├── WaitTimeout                   what a job waited for did not come in time
    └── ChildFailed                   a child of the job failed, and the join with it
`RetryAfter`, a signal of handlers, is outside the tree. Codes and SQLSTATEs are a public contract: never changed.
"""

from typing import ClassVar


class OstinatoError(Exception):
    """The root: `except OstinatoError` catches everything that Ostinato raises on purpose."""

    code: ClassVar[str] = "ostinato_error"
    """Stable name for programs: in JSON output, logs, metrics and HTTP problems."""
    sqlstate: ClassVar[str | None] = None
    """SQLSTATE by which the SQL functions raise it, when they do."""
    status: ClassVar[int | None] = None
    """HTTP status, when it can reach HTTP."""
    exit_code: ClassVar[int] = 1
    """Exit code of a command that ends because of it."""
    retryable: ClassVar[bool] = False
    """Whether the same call, made again later, may succeed without any other change."""
    hint: str | None = None
    """What to do about it: the default of the class, or the one given to the constructor."""

    def __init__(self, message: str, /, *, hint: str | None = None, **values: object) -> None:
        super().__init__(message)
        self.message = message
        self.values = values
        if hint is not None:
            self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n→ {self.hint}" if self.hint else self.message


class InvalidInput(OstinatoError):
    """An argument cannot be used: wrong type, too large, a NUL byte, a malformed name."""

    code = "invalid_input"
    sqlstate = "OS400"
    status = 422
    hint = "Correct the value that the message names, and call again."


class NotFound(OstinatoError):
    """There is nothing by that id or name, or it belongs to another tenant."""

    code = "not_found"
    sqlstate = "OS404"
    status = 404
    hint = "Check the id or name; finished jobs leave the history after the retention time."


class Conflict(OstinatoError):
    """The request clashes with something that is already there."""

    code = "conflict"
    sqlstate: ClassVar[str | None] = "OS409"
    status = 409
    hint = "Look at what is already there, then decide which of the two is meant."


class UniqueConflict(Conflict):
    """A job with the same unique key is live, and the policy is to refuse a second one."""

    code = "unique_conflict"
    sqlstate = "OS411"
    hint = "Wait for that job, cancel it, or enqueue with policy 'return' or 'replace'."


class LeaseHeld(Conflict):
    """Another holder has the lease; the values name the holder, its job and until when."""

    code = "lease_held"
    sqlstate = "OS423"
    status = 423
    retryable = True
    hint = "Try again later; in a job, return Snooze(seconds)."


class IdempotencyConflict(Conflict):
    """The key was used for another request; the values name the fields that differ."""

    code = "idempotency_conflict"
    sqlstate = None
    hint = "Send the first request again unchanged, or choose a new key for the new one."


class RequestInFlight(Conflict):
    """The same request is being worked on; the values say by whom, since when and until when."""

    code = "request_in_flight"
    sqlstate = None
    retryable = True
    hint = "Send the same request again a little later: it gets the answer of the first."


class SignatureRefused(OstinatoError):
    """A webhook that came in is not what its sender signed, or cannot be checked."""

    code = "signature_refused"
    status = 401
    hint = "Answer 401 and do nothing; the sender may have another secret, clock or body."


class HeaderMissing(SignatureRefused):
    """One of webhook-id, webhook-timestamp and webhook-signature is not there."""

    code = "header_missing"


class TimestampRefused(SignatureRefused):
    """The message was sent too long ago, in the future, or at no time at all."""

    code = "timestamp_refused"


class SignatureMismatch(SignatureRefused):
    """No known secret signed this id, timestamp and body."""

    code = "signature_mismatch"


class WebhookReplayed(SignatureRefused):
    """A message with this id came before, and was accepted."""

    code = "webhook_replayed"
    hint = "Answer 2xx: the sender repeats what was not acknowledged. Do nothing else."


class RequestRefused(OstinatoError):
    """An HTTP request cannot be read: broken JSON, nested too deep, a NUL byte."""

    code = "request_refused"
    status = 400
    hint = "Correct what the message names; JSON in UTF-8 is expected."


class MethodRefused(RequestRefused):
    """The path is known, but not with this method; the header Allow lists those it has."""

    code = "method_refused"
    status = 405
    hint = "Use one of the methods that the header Allow lists."


class BodyTooLarge(RequestRefused):
    """The body of a request is larger than the limit."""

    code = "body_too_large"
    status = 413
    hint = "Send less, or raise the setting api_max_body_bytes."


class MediaTypeRefused(RequestRefused):
    """The body of a request is not JSON, or is compressed."""

    code = "media_type_refused"
    status = 415
    hint = "Send JSON, uncompressed, with the header Content-Type: application/json."


class Unauthenticated(OstinatoError):
    """The request does not identify its caller, or its key or token is not valid."""

    code = "unauthenticated"
    status = 401
    hint = "Send the header Authorization: Bearer <key>; `ostinato keys create` makes a key."


class Forbidden(OstinatoError):
    """The caller is known, but has no role that may do this."""

    code = "forbidden"
    status = 403
    hint = "Use a key with one of the roles that the message names."


class TooManyRequests(OstinatoError):
    """The caller asks faster than it may; the header Retry-After says when to ask again."""

    code = "too_many_requests"
    status = 429
    retryable = True
    hint = "Wait as long as the header Retry-After says."


class UnsafeAddress(OstinatoError):
    """A URL cannot be called: it leads into an inner network, or can be read in two ways."""

    code = "unsafe_address"
    status = 422
    hint = "Use a public https URL, or list the address in the setting webhooks_allow_private."


class NoAnswer(OstinatoError):
    """Another server could not be reached, or did not answer in time."""

    code = "no_answer"
    status = 502
    retryable = True
    hint = "Check the URL and the server behind it, then try again."


class LeaseLost(OstinatoError):
    """The attempt was taken over or ended by someone else: nothing was changed."""

    code = "lease_lost"
    sqlstate = "OS410"
    status = 409
    hint = "Stop working on this attempt; a newer attempt or an operator owns the job now."


class WrongState(OstinatoError):
    """The verb does not apply to a job in this state."""

    code = "wrong_state"
    sqlstate = "OS412"
    status = 409
    hint = "See where the job stands with `ostinato why <job>`."


class IllegalTransition(WrongState):
    """The machine does not list this change of state, or it was not made by a transition."""

    code = "illegal_transition"
    sqlstate = "OS424"
    hint = "Change states with ostinato.transition(), by an event that the machine lists."


class InvariantBroken(WrongState):
    """The row would break an invariant that the machine declares for its state."""

    code = "invariant_broken"
    sqlstate = "OS425"
    hint = "Set the columns together with the state: `changes` of ostinato.transition()."


class StepMismatch(OstinatoError):
    """This version of a handler takes other steps than the one that began the job."""

    code = "step_mismatch"
    hint = "Run the job with the code that began it, or: ostinato jobs restart <job> --from <step>"


class DatabaseUnavailable(OstinatoError):
    """PostgreSQL could not be reached, or did not answer in time."""

    code = "database_unavailable"
    status = 503
    exit_code = 69  # EX_UNAVAILABLE of sysexits.h
    retryable = True
    hint = "Check that the server runs and that the URL is right: `ostinato doctor`."


class TransactionIdle(OstinatoError):
    """A transaction waited for its next statement for so long that the server ended it."""

    code = "transaction_idle"
    hint = "Wait for others before the transaction, or raise the setting `transaction_idle_seconds`."


class CommitUnknown(OstinatoError):
    """The connection broke while a commit was under way: it may have taken effect."""

    code = "commit_unknown"
    status = 503
    hint = "Read the state before repeating the work, or repeat it under the same unique key."


class ContractMismatch(OstinatoError):
    """The database schema is too old or too new for this version of the code."""

    code = "contract_mismatch"
    sqlstate = "OS426"
    status = 503
    exit_code = 78  # EX_CONFIG of sysexits.h: a supervisor should not restart it in a loop
    hint = "Schema too old: run `ostinato db migrate`. Schema too new: upgrade this worker."


class EmbeddedError(OstinatoError):
    """The embedded PostgreSQL could not be started, attached to or stopped."""

    code = "embedded_failed"
    hint = "Choose another folder with --data-dir, or set OSTINATO_DATABASE_URL."


class MigrationError(OstinatoError):
    """A migration could not be applied, or an applied one is not the one in this release."""

    code = "migration_failed"
    hint = "Nothing was half applied; see `ostinato db status`, fix the cause, migrate again."


class SecretRefused(OstinatoError):
    """A sealed secret does not open here."""

    code = "secret_refused"
    status = 503
    hint = "See which values do not open, and why: ostinato secrets status"


class SecretKeyUnknown(SecretRefused):
    """The value names a key that this process does not have; the values say which."""

    code = "secret_key_unknown"
    hint = "Add that key to OSTINATO_SECRET_KEY or the key file, behind the newest one."


class SecretTampered(SecretRefused):
    """The value is not what was sealed, or it was sealed for another column, row or tenant."""

    code = "secret_tampered"
    hint = "Set the secret anew; find out who changed or copied the row."


class SettingsError(OstinatoError):
    """A setting is unknown, has the wrong type, or does not fit with another one."""

    code = "settings_invalid"
    exit_code = 2
    hint = "docs/reference/settings.md lists every setting with its range."


class NotConfigured(OstinatoError):
    """Something that this call needs was never set up."""

    code = "not_configured"
    exit_code = 2
    hint = "Set it up first; `ostinato doctor` says what is missing."


class SecretKeyMissing(NotConfigured):
    """A secret is to be sealed or opened, and no key is configured."""

    code = "secret_key_missing"
    status = 503
    hint = "Make a key with: ostinato secrets new-key"


class RetryAfter(Exception):
    """Raised by a handler: a failed attempt; the next one, if there is one, after `seconds`."""

    def __init__(self, seconds: float, reason: str = "") -> None:
        super().__init__(seconds, reason)
        self.seconds, self.reason = seconds, reason

    def __str__(self) -> str:
        return self.reason or f"retry after {self.seconds:g} s"


# Users know them as `ostinato.errors.X`: that is what tracebacks show and retry policies store.
for _error in [value for value in globals().values() if isinstance(value, type)]:
    _error.__module__ = "ostinato.errors"
