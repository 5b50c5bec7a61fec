"""How a job of a service fails: a code that programs know, a sentence for people."""

__all__ = ["RETRYABLE", "Refused"]

RETRYABLE = frozenset(
    {"MEMORY", "TIMEOUT", "WORKER_CRASHED", "IO", "DISK_FULL", "SERVICE_RESTARTED"}
)


class Refused(Exception):
    """The file cannot be worked on; says why, with the numbers, and which setting decides."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    def told(self) -> dict[str, object]:
        """As the answer to a poll has it."""
        return {"code": self.code, "message": str(self), "retryable": self.code in RETRYABLE}
