"""The errors that callers get who wait for a job to end well."""

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


for _error in (JobFailed, JobCancelled, StillRunning):
    _error.__module__ = "ostinato.errors"  # as users know them
