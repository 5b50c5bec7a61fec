"""Scripts the faults of a stand-in: what it does instead of answering, call by call.

    503,503,200       fail twice, then answer as usual, also after the last word
    429:7             too many requests, with Retry-After: 7
    ok@1.5            answer as usual, 1.5 seconds later
    503*3, 503*       three times, from now on
    close, reset      end the connection without an answer: orderly, or with a reset
    stall             answer nothing until the caller gives up
    garbage, empty    200, with a body that is not of its content type, or with none
    truncated         begin an answer, and end the connection before its end

A script applies to a method and a pattern of paths (`/hooks/*`); the newest that matches is used. A
limit works as in real services: a number of requests in a window, then 429 with Retry-After.
"""

import math
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from ostinato._core.base.errors import InvalidInput

MOST_CALLS = 2000
MOST_ORDERS = 200
MOST_WORDS = 1000
LONGEST_DELAY = 300.0
WORDS = ("ok", "close", "reset", "stall", "garbage", "empty", "truncated")

_WORD = re.compile(
    rf"(?P<what>{'|'.join(WORDS)}|[1-5][0-9][0-9])"
    r"(?::(?P<after>[0-9]{1,6}))?(?:@(?P<delay>[0-9]{1,3}(?:\.[0-9]{1,3})?))?(?:\*(?P<times>[0-9]{0,4}))?"
)


@dataclass(frozen=True, slots=True)
class Fault:
    """The fault of one call."""

    what: str
    """One of WORDS, or "status"."""
    status: int = 200
    retry_after: int | None = None
    delay: float = 0.0
    """Seconds, before anything else."""
    body: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str = "ok"
    """As it was written."""


OK: Final = Fault("ok")


class Limit(BaseModel):
    """A number of requests in a window of some seconds."""

    model_config = ConfigDict(extra="forbid")

    requests: int = Field(ge=0, le=1_000_000)
    seconds: float = Field(gt=0, le=86_400)
    status: int = Field(default=429, ge=400, le=599)


@dataclass
class Order:
    """A script, or a limit, for some calls."""

    path: str
    """A pattern, such as `/hooks/*`."""
    script: str = ""
    method: str | None = None
    """None means any."""
    limit: Limit | None = None
    body: str | None = None
    """The body of the scripted answers; by default a short JSON document."""
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._words = _expanded(parse(self.script))
        self._window: deque[float] = deque()

    def fits(self, method: str, path: str) -> bool:
        """Return whether it applies to a call."""
        return self.method in (None, method) and fnmatchcase(path, self.path)

    def next(self, now: float) -> Fault | None:
        """Return the fault of the next call; None means that the script has ended."""
        if self.limit is not None and (held_back := self._held_back(self.limit, now)) is not None:
            return held_back
        fault = next(self._words, None)
        return None if fault is None else replace(fault, body=self.body, headers=self.headers)

    def _held_back(self, limit: Limit, now: float) -> Fault | None:
        while self._window and self._window[0] <= now - limit.seconds:
            self._window.popleft()
        if len(self._window) < limit.requests:
            self._window.append(now)
            return None
        wait = math.ceil(self._window[0] + limit.seconds - now) if self._window else 1
        return Fault(
            "status", limit.status, retry_after=max(1, wait), body=self.body, headers=self.headers, text="limit"
        )


@dataclass(slots=True)
class Call:
    """One call that came in, and its answer."""

    number: int
    at: float
    """Seconds since the sandbox began, or was reset."""
    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: str
    fault: str = "ok"
    status: int | None = None
    """None means no answer, or not yet."""


class Faults:
    """The scripts that are set, and the calls that came in."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._orders: deque[Order] = deque(maxlen=MOST_ORDERS)
        self._count = 0
        self._began = clock()
        self.calls: deque[Call] = deque(maxlen=MOST_CALLS)

    @property
    def orders(self) -> list[Order]:
        """The scripts and limits that are set, the newest first."""
        return list(self._orders)

    def order(self, order: Order) -> None:
        """Set a script or a limit; it replaces the one for the same method and path."""
        kept = [o for o in self._orders if (o.method, o.path) != (order.method, order.path)]
        self._orders.clear()
        self._orders.extend([order, *kept][:MOST_ORDERS])

    def take(self, method: str, path: str) -> Fault:
        """Return the fault of this call."""
        now = self._clock()
        for order in self._orders:
            if order.fits(method, path) and (fault := order.next(now)) is not None:
                return fault
        return OK

    def note(self, *, method: str, path: str, query: str, headers: dict[str, str], body: bytes) -> Call:
        """Remember a call."""
        self._count += 1
        text = body.decode("utf-8", "replace")
        call = Call(self._count, self._clock() - self._began, method, path, query, headers, text)
        self.calls.append(call)
        return call

    def reset(self) -> None:
        """Forget all of it."""
        self._orders.clear()
        self.calls.clear()
        self._count = 0
        self._began = self._clock()


def parse(script: str) -> list[tuple[Fault, int | None]]:
    """Return the words of a script, each with its number of times; None means from there on."""
    words = [word.strip() for word in script.split(",")] if script.strip() else []
    if len(words) > MOST_WORDS:
        raise InvalidInput(f"a script has at most {MOST_WORDS} words, not {len(words)}")
    return [_word(word) for word in words]


def _word(text: str) -> tuple[Fault, int | None]:
    found = _WORD.fullmatch(text)
    if found is None or float(found["delay"] or 0) > LONGEST_DELAY:
        raise InvalidInput(
            f"{text[:100]!r} is no word of a script",
            hint=f"Write a status such as 503, or {', '.join(WORDS)}; with :7 for Retry-After,"
            " @1.5 for a delay, *3 for how often.",
        )
    what, status = found["what"], 200
    if what.isdigit():
        status = int(what)
        what = "ok" if 200 <= status < 300 else "status"  # noqa: PLR2004 - success, as HTTP has it
    fault = Fault(
        what,
        status,
        retry_after=None if found["after"] is None else int(found["after"]),
        delay=float(found["delay"] or 0),
        text=text,
    )
    times = found["times"]
    return fault, 1 if times is None else (int(times) if times else None)


def _expanded(words: list[tuple[Fault, int | None]]) -> Iterator[Fault]:
    for fault, times in words:
        done = 0
        while times is None or done < times:
            yield fault
            done += 1
