"""The errors of waiting, of callers for a job and of jobs for events and children; of copies of a server; of cells."""

from ostinato._core.base.errors import OstinatoError


class JobFailed(OstinatoError):
    """The job that a caller waited for is a dead letter: it failed for good."""

    code = "job_failed"
    hint = "`ostinato why` says what to do; a redrive gives it new attempts."


class JobCancelled(OstinatoError):
    """The job that a caller waited for was cancelled."""

    code = "job_cancelled"
    hint = "`ostinato trail` says who cancelled it."


class StillRunning(OstinatoError, TimeoutError):
    """The job that a caller waited for has not ended in time; it goes on."""

    code = "still_running"
    retryable = True
    hint = "Wait again with its id, or ask `ostinato why` what holds it up."


class BackupFailed(OstinatoError):
    """A backup, a standby or a restore failed; the message has what PostgreSQL's program said."""

    code = "backup_failed"
    hint = "Nothing half made is used: remove the cause that the message names, and try again."


class TenantMoved(OstinatoError):
    """The tenant lives in another cell, or is on its way to one: nothing was done."""

    code = "tenant_moved"
    sqlstate = "OS421"
    status = 503
    retryable = True
    hint = "Ask again in a moment; `ostinato cells where` says where a tenant is."


class WaitTimeout(OstinatoError, TimeoutError):
    """What a job waited for did not come in time: an event of `wait_for`, the children of `join`.

    Each later attempt finds the same, so a handler that does not catch it makes its job a dead letter at once.
    """

    code = "wait_timeout"
    hint = "Catch it where the handler can go on without; or wait again: ostinato jobs restart ID --from STEP."


class ChildFailed(OstinatoError):
    """A child of the job failed for good or was cancelled, and `join` was to fail with it.

    Each later attempt finds the same, so a handler that does not catch it makes its job a dead letter at once.
    """

    code = "child_failed"
    hint = 'Catch it, or join with on_failure="collect".'


PERMANENT = (WaitTimeout, ChildFailed)
"""The errors that every later attempt meets again: how a wait ended is stored."""

for _error in (JobFailed, JobCancelled, StillRunning, BackupFailed, TenantMoved, *PERMANENT):
    _error.__module__ = "ostinato.errors"  # as users know them
