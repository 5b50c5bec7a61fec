"""Limits the rate of requests by a token bucket for each caller.

A bucket holds a minute's worth of requests and fills evenly. A caller that has paused may send
that many at once; over a longer time it gets no more than the rate. A caller whose request cost more
than was left owes the rest. A bucket is one number, the moment when it is full again. One whose
moment has passed is like a new one, so dropping it changes nothing; the ones used longest ago are
dropped first, and memory stays bounded.

The headers are those of draft-ietf-httpapi-ratelimit-headers (revision 10):

    RateLimit-Policy: "default";q=6000;w=60
    RateLimit: "default";r=5999;t=1
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import NamedTuple, TypeVar

WINDOW_SECONDS = 60
MOST_BUCKETS = 50_000
SECOND = 10**9
DUST = 1000  # nanoseconds: the error of a floating-point clock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Bounded(OrderedDict[K, V]):
    """A dictionary with a bounded number of entries: the one set longest ago is dropped."""

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
    """A grant says whether a request may be made, and the state of the bucket after it."""

    allowed: bool
    remaining: int
    """Requests that may be made now."""
    seconds: int
    """Until all may be made again; when none may now: until the next one may. At least 1."""


class RateLimit:
    """Allows each caller a number of requests a minute."""

    def __init__(
        self, name: str, per_minute: int, *, clock: Callable[[], float] = time.monotonic, most: int = MOST_BUCKETS
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
        # Also when refused: a caller that keeps asking must not be dropped.
        self._full_at.keep(who, now + missing)
        return self._grant(missing, allowed=allowed)

    def charge(self, who: Hashable, requests: int) -> Grant:
        """Take what a request costs beyond its own, if the caller owes nothing; what is lacking is owed then.

        It costs a minute at the most: where the rate is low, one large body must not keep its caller out for long.
        """
        now = int(self._clock() * SECOND) * self.per_minute
        missing = max(self._full_at.get(who, now) - now, 0)
        allowed = missing <= self._bucket
        if allowed:
            missing += min(requests, self.per_minute) * self._request
            self._full_at.keep(who, now + missing)
        return self._grant(missing, allowed=allowed)

    def headers(self, grant: Grant) -> dict[str, str]:
        """Return the headers that every answer carries."""
        return {"ratelimit-policy": self.policy, "ratelimit": f'"{self._name}";r={grant.remaining};t={grant.seconds}'}

    def _grant(self, missing: int, *, allowed: bool) -> Grant:
        """Return the grant for a bucket that lacks this much."""
        room = max(0, self._bucket - missing)
        remaining = room // self._request
        wait = missing if remaining else missing + self._request - self._bucket
        return Grant(allowed, remaining, max(1, -(-wait // self._second)))
