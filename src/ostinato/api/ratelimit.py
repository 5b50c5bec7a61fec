"""How fast somebody may ask: a token bucket for each.

A bucket holds a minute's worth of requests and fills evenly. Who has paused may ask that often at
once; over a longer time nobody gets more than the rate. A bucket is one number, the moment when it
is full again. One whose moment has passed is like a new one, so forgetting it changes nothing; the
ones used longest ago are forgotten first, and memory stays bounded.

The headers are those of draft-ietf-httpapi-ratelimit-headers (revision 10):

    RateLimit-Policy: "default";q=6000;w=60
    RateLimit: "default";r=5999;t=1
"""

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import NamedTuple, TypeVar

__all__ = ["Bounded", "Grant", "RateLimit"]

WINDOW_SECONDS = 60.0
MOST_BUCKETS = 50_000
# Floating-point dust: far below the interval of the fastest rate that a setting may name.
DUST_SECONDS = 1e-6

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Bounded(OrderedDict[K, V]):
    """A dictionary of so many entries: what was set longest ago makes room."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def keep(self, key: K, value: V) -> None:
        """Set an entry, as the newest."""
        self[key] = value
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)


class Grant(NamedTuple):
    """Whether a request may be made, and how the bucket stands after it."""

    allowed: bool
    remaining: int
    """Requests that may be made now."""
    seconds: int
    """Until all of them may be made again; when none may: until the next one may, at least 1."""


class RateLimit:
    """So many requests a minute for each of any number of callers."""

    def __init__(
        self,
        name: str,
        per_minute: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        most: int = MOST_BUCKETS,
    ) -> None:
        self.per_minute = per_minute
        self.policy = f'"{name}";q={per_minute};w={WINDOW_SECONDS:.0f}'
        """The value of the header `RateLimit-Policy`."""
        self._name = name
        self._interval = WINDOW_SECONDS / per_minute
        self._clock = clock
        self._full_at: Bounded[Hashable, float] = Bounded(most)

    def take(self, who: Hashable) -> Grant:
        """Take one request from the bucket of a caller, if there is one."""
        now = self._clock()
        before = max(self._full_at.get(who, now), now)
        after = before + self._interval
        allowed = after - now <= WINDOW_SECONDS + DUST_SECONDS
        # Also when refused: whoever asks all the time is not to be forgotten.
        self._full_at.keep(who, after if allowed else before)
        return self._grant(allowed=allowed, empty_for=(after if allowed else before) - now)

    def give_back(self, who: Hashable) -> None:
        """Undo one taking."""
        if who in self._full_at:
            self._full_at[who] -= self._interval

    def headers(self, grant: Grant) -> dict[str, str]:
        """What to tell the caller with every answer."""
        return {
            "ratelimit-policy": self.policy,
            "ratelimit": f'"{self._name}";r={grant.remaining};t={grant.seconds}',
        }

    def _grant(self, *, allowed: bool, empty_for: float) -> Grant:
        """How a bucket stands that takes so many seconds to be full."""
        room = WINDOW_SECONDS - empty_for
        remaining = max(0, math.floor((room + DUST_SECONDS) / self._interval))
        if remaining:
            return Grant(allowed, remaining, math.ceil(empty_for - DUST_SECONDS))
        next_in = self._interval - room
        return Grant(allowed, 0, max(1, math.ceil(next_in - DUST_SECONDS)))
