"""A handler may return one of these outcomes. Anything else is the result of a job that is done."""

from dataclasses import dataclass

from ostinato._core.base.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Done:
    """The job is done; the result is kept as JSON."""

    result: object = None


@dataclass(frozen=True, slots=True)
class Snooze:
    """The job is not done yet: it runs again after some seconds. No attempt is used up."""

    seconds: float

    def __post_init__(self) -> None:
        if not 0 <= self.seconds < 10 * 366 * 86_400:
            raise InvalidInput(f"cannot snooze for {self.seconds} seconds", hint="Use 0 seconds to ten years.")


@dataclass(frozen=True, slots=True)
class Cancel:
    """The job need not be done any more."""

    reason: str = "cancelled by its handler"
