"""How fast somebody may ask: a token bucket for each.

A bucket holds a minute's worth of requests and fills evenly. Who has paused may ask that often at
once; over a longer time nobody gets more than the rate. A bucket is one number, the moment when it
is full again. One whose moment has passed is like a new one, so forgetting it changes nothing; the
ones used longest ago are forgotten first, and memory stays bounded.

The headers are those of draft-ietf-httpapi-ratelimit-headers (revision 10):

    RateLimit-Policy: "default";q=6000;w=60
    RateLimit: "default";r=5999;t=1
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import NamedTuple, TypeVar

__all__ = ["Bounded", "Grant", "RateLimit"]

WINDOW_SECONDS = 60
MOST_BUCKETS = 50_000
SECOND = 10**9
DUST = 1000  # nanoseconds: what a clock of floating point may be off by

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
    """Until all may be made again; when none may now: until the next one may. At least 1."""


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
        self.policy = f'"{name}";q={per_minute};w={WINDOW_SECONDS}'
        """The value of the header `RateLimit-Policy`."""
        self._name = name
        # Whole numbers, so that nothing is lost however often one is added: a nanosecond is
        # `per_minute` units, and then a request is a whole number of them as well.
        self._second = SECOND * per_minute
        self._request = SECOND * WINDOW_SECONDS
        self._bucket = self._request * per_minute
        self._clock = clock
        self._full_at: Bounded[Hashable, int] = Bounded(most)

    def take(self, who: Hashable) -> Grant:
        """Take one request from the bucket of a caller, if there is one."""
        now = int(self._clock() * SECOND) * self.per_minute
        full_at = max(self._full_at.get(who, now), now)
        missing = full_at - now
        allowed = missing + self._request <= self._bucket + DUST * self.per_minute
        if allowed:
            missing += self._request
        # Also when refused: whoever asks all the time is not to be forgotten.
        self._full_at.keep(who, now + missing)
        return self._grant(missing, allowed=allowed)

    def give_back(self, who: Hashable) -> None:
        """Undo one taking."""
        if who in self._full_at:
            self._full_at[who] -= self._request

    def headers(self, grant: Grant) -> dict[str, str]:
        """What to tell the caller with every answer."""
        return {
            "ratelimit-policy": self.policy,
            "ratelimit": f'"{self._name}";r={grant.remaining};t={grant.seconds}',
        }

    def _grant(self, missing: int, *, allowed: bool) -> Grant:
        """How a bucket stands that so much is missing from."""
        room = max(0, self._bucket - missing)
        remaining = room // self._request
        wait = missing if remaining else self._request - room
        return Grant(allowed, remaining, max(1, -(-wait // self._second)))
