"""Retry policy as data: when a failed job runs again, and when it does not.

    Retry()                                     2 s, 10 s, 50 s, 250 s, then the dead letters
    Retry(delays=(1, 60, 3600))                 a list: four attempts in all
    Retry(base=1, factor=2, cap=300, max_attempts=20)
    Retry(permanent=(ValueError, "billing.errors.CardStolen"))

The default is five attempts over about five minutes: the first delay outlasts a blip, all of
them together outlast a restart of whatever the job depends on.

Nothing here reads a clock or draws a random number by itself: the functions are pure, so a day
of retries can be computed, or simulated from a seed, in no time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import TypedDict

from ostinato._core.base.errors import InvalidInput

DEFAULT_ATTEMPTS = 5
MOST_ATTEMPTS = 10_000  # enough for a year of hourly retries; more is a mistake in the policy
LONGEST_DELAY = 366 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """When and how often a failed job is tried again."""

    delays: tuple[float, ...] = ()
    """Seconds before each retry, in order. The last one repeats if `max_attempts` asks for more.
    Empty: exponential, as the next three fields say."""
    base: float = 2.0
    """Seconds before the first retry."""
    factor: float = 5.0
    """Each delay is this many times the one before."""
    cap: float = 3600.0
    """No exponential delay is longer than this many seconds, jitter aside."""
    jitter: float = 0.1
    """Each delay is moved at random by up to this fraction of itself, earlier or later, so that
    jobs that failed together do not come back together."""
    max_attempts: int = 0
    """Attempts in all, the first included. 0 means: one more than there are `delays`, or 5."""
    permanent: tuple[type[BaseException] | str, ...] = ()
    """Errors that no retry can fix, as classes or as (dotted) class names; subclasses count."""

    def __post_init__(self) -> None:
        for field in ("delays", "permanent"):
            object.__setattr__(self, field, _as_tuple(field, getattr(self, field)))
        if self.max_attempts == 0:
            attempts = len(self.delays) + 1 if self.delays else DEFAULT_ATTEMPTS
            object.__setattr__(self, "max_attempts", attempts)
        for delay in self.delays:
            _require("delays", delay, 0, LONGEST_DELAY)
        _require("base", self.base, 0, LONGEST_DELAY)
        _require("factor", self.factor, 1, 1000)
        _require("cap", self.cap, 0, LONGEST_DELAY)
        _require("jitter", self.jitter, 0, 1)
        _require("max_attempts", self.max_attempts, 1, MOST_ATTEMPTS)
        for error in self.permanent:
            _require_error(error)


def next_delay(policy: Retry, failures: int, rng: Random) -> float | None:
    """Return the seconds until the next attempt after `failures` failed ones; None means no more attempts."""
    if failures >= policy.max_attempts:
        return None
    delay = _plain_delay(policy, max(failures, 1))
    return delay * (1 + policy.jitter * rng.uniform(-1, 1))


def is_permanent(policy: Retry, error: BaseException) -> bool:
    """Return whether the policy says that trying again cannot help against this error."""
    for permanent in policy.permanent:
        if isinstance(permanent, str):
            if any(permanent in (cls.__name__, _dotted(cls)) for cls in type(error).__mro__):
                return True
        elif isinstance(error, permanent):
            return True
    return False


class RetryJson(TypedDict, total=False):
    """A policy as it is stored: delays or the exponential triple, and the rest."""

    delays: list[float]
    base: float
    factor: float
    cap: float
    jitter: float
    max_attempts: int
    permanent: list[str]


def to_json(policy: Retry) -> RetryJson:
    """Return the policy as plain JSON values; permanent errors become their dotted names."""
    shape: RetryJson = (
        {"delays": list(policy.delays)}
        if policy.delays
        else {"base": policy.base, "factor": policy.factor, "cap": policy.cap}
    )
    names = [error if isinstance(error, str) else _dotted(error) for error in policy.permanent]
    return {**shape, "jitter": policy.jitter, "max_attempts": policy.max_attempts, "permanent": names}


def from_json(stored: Mapping[str, object]) -> Retry:
    """Return the policy that `to_json` described."""
    known = RetryJson.__annotations__
    for key in stored:
        if key not in known:
            raise InvalidInput(f"a retry policy has no field {key!r}", hint=f"Known: {', '.join(known)}.", key=key)
    return Retry(**stored)  # type: ignore[arg-type]  # Retry checks every value itself


def _plain_delay(policy: Retry, failures: int) -> float:
    if policy.delays:
        return policy.delays[min(failures, len(policy.delays)) - 1]
    try:
        return min(policy.base * policy.factor ** (failures - 1), policy.cap)
    except OverflowError:
        return policy.cap


def _dotted(cls: type) -> str:
    if cls.__module__ == "builtins":
        return cls.__qualname__
    return f"{cls.__module__}.{cls.__qualname__}"


def _as_tuple(field: str, value: object) -> tuple[object, ...]:
    if isinstance(value, (list, tuple)):
        return tuple(value)
    raise InvalidInput(
        f"Retry.{field} must be a tuple, got {value!r}",
        hint=f"A tuple of one is written {field}=(…,).",
        field=field,
        value=value,
    )


def _require(field: str, value: object, low: float, high: float) -> None:
    whole = field == "max_attempts"
    kinds = (int,) if whole else (int, float)
    # bool is an int to Python, but nobody means True seconds
    if isinstance(value, kinds) and not isinstance(value, bool) and low <= value <= high:
        return
    kind = "a whole number" if whole else "a number"
    raise InvalidInput(
        f"Retry.{field} must be {kind} from {low:g} to {high:g}, got {value!r}",
        hint="Delays are in seconds, jitter is a fraction; see ostinato.Retry.",
        field=field,
        value=value,
    )


def _require_error(error: object) -> None:
    if isinstance(error, str) and all(part.isidentifier() for part in error.split(".")):
        return
    if isinstance(error, type) and issubclass(error, BaseException):
        return
    raise InvalidInput(
        f"Retry.permanent takes exception classes or their names, got {error!r}",
        hint="For example permanent=(ValueError, 'billing.errors.CardStolen').",
        value=error,
    )
