"""The ways in which a job of a service fails: a code for programs, a sentence for people."""

import errno
import os
from pathlib import Path

OURS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.EIO})
"""Errors of the machine, which say nothing about the file that is read."""
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
NO_ROOM = 75
"""The exit code of a worker process that could not even write how it ended."""

RETRYABLE = frozenset({"MEMORY", "TIMEOUT", "WORKER_CRASHED", "IO", "DISK_FULL", "SERVICE_RESTARTED"})


class Refused(Exception):
    """The file cannot be worked on; says why, with the numbers, and which setting decides."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    def document(self) -> dict[str, object]:
        """Return it as the answer to a poll has it."""
        return {"code": self.code, "message": str(self), "retryable": self.code in RETRYABLE}


def of_system(error: OSError) -> Refused:
    """Return the reason for an error of the system; a full disk has a code of its own."""
    if isinstance(error, IsADirectoryError):  # it stays there, however often it is tried
        place = Path(os.fsdecode(error.filename2 or error.filename or "?"))
        return Refused("UNSAFE", f"a folder lies where a file is to be: {place.name}")
    code = "DISK_FULL" if error.errno in FULL else "IO"
    return Refused(code, f"{type(error).__name__}: {error}")


def reason_of(error: Exception) -> Refused:
    """Return the reason of a job for any exception: the job fails, and the service goes on."""
    match error:
        case Refused():
            return error
        case OSError():
            return of_system(error)
        case _:
            return Refused("WORKER_CRASHED", f"{type(error).__name__}: {error}"[:500])
