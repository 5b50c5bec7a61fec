"""A random configuration per seed: how many of what, which faults, which limits, which habits.

Rare interleavings need rare circumstances. A run in which everything is on a little finds less than
many runs that each leave most things out and do the rest a lot.
"""

import random
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

FAULTS = ("crash", "freeze", "lost_answer", "outage", "cut", "jump", "jump_back")
ACTORS = ("cancel", "operate", "pause", "configure", "replay")
VERBS = ("done", "done_many", "fail", "bury", "snooze", "release", "cancel", "progress", "fence")
LIVE = ("scheduled", "ready", "running")


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a queue, as configure_queue takes them."""

    concurrency: int | None = None
    rate_count: int | None = None
    rate_seconds: float | None = None
    key_concurrency: int | None = None
    key_rate_count: int | None = None
    key_rate_seconds: float | None = None

    @classmethod
    def random(cls, rng: random.Random) -> Self:
        chosen: dict[str, float | int] = {}
        if rng.random() < 0.5:
            chosen["concurrency"] = rng.randint(1, 4)
        if rng.random() < 0.35:
            chosen |= {"rate_count": rng.randint(1, 3), "rate_seconds": rng.choice((1.0, 5.0, 20.0))}
        if rng.random() < 0.4:
            chosen["key_concurrency"] = rng.randint(1, 2)
        if rng.random() < 0.25:
            chosen |= {"key_rate_count": rng.randint(1, 2), "key_rate_seconds": rng.choice((2.0, 10.0))}
        return cls(**chosen)  # type: ignore[arg-type]

    @property
    def any(self) -> bool:
        return any(getattr(self, each.name) is not None for each in fields(self))

    @property
    def by_key(self) -> bool:
        return self.key_concurrency is not None or self.key_rate_count is not None

    def params(self) -> dict[str, object]:
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(frozen=True, slots=True)
class Config:
    """The circumstances of one run."""

    mood: str
    """What a run is about, if anything; see MOODS."""
    steps: int
    workers: int
    runs: int
    """How many jobs a worker ends at once, beside its own hands."""
    enqueuers: int
    batch: int
    """The most that a worker claims at once."""
    bulk: int
    """The most that are enqueued at once."""
    backlog: int
    """How many jobs an enqueuer lets wait before it rests."""
    queues: tuple[str, ...]
    tenants: tuple[str, ...]
    priorities: tuple[int, ...]
    kinds: tuple[str, ...]
    limit_keys: tuple[str | None, ...]
    unique_keys: tuple[str, ...]
    unique_states: tuple[tuple[str, ...], ...]
    expiries: tuple[float, ...]
    max_crashes: int
    limits: dict[str, Limits]
    faults: frozenset[str]
    actors: frozenset[str]
    fault_seconds: float
    """The pause between two faults, on average."""
    verbs: dict[str, int]
    """How often a worker ends a run in which way."""
    in_transaction: float
    """How many of the calls are made in a longer transaction."""
    waits: float
    """How many of the calls that meet a lock wait for it; the others try again later."""
    hurry: float
    """How often the time moves, per step."""
    longest_step: float
    """How far the time moves at once, in seconds."""
    look_every: int
    """After how many steps the whole database is compared with the model."""
    extras: float = field(default=0.0, kw_only=True)
    """How much of what workers do with their jobs is not one of the verbs."""
    rng: random.Random = field(compare=False, repr=False)

    @classmethod
    def of(cls, seed: int) -> Self:
        """The configuration of a seed, and the source of chance for its run."""
        rng = random.Random(seed)
        queues = ("a", "b")[: rng.randint(1, 2)]
        mood = rng.choice(("", "", "", "", *MOODS))
        chosen = cls(
            mood=mood,
            steps=rng.randint(80, 320),
            workers=rng.randint(1, 4),
            runs=rng.choice((0, 2, 4)),
            enqueuers=rng.randint(1, 2),
            batch=rng.choice((1, 2, 3, 6)),
            bulk=rng.choice((1, 3, 8)),
            backlog=rng.choice((2, 6, 15)),
            queues=queues,
            tenants=("t1", "t2", "t3")[: rng.randint(1, 3)],
            priorities=rng.choice(((0,), (0, 0, 5), (-1, 0, 1))),
            kinds=rng.choice((("k1",), ("k1", "k2"))),
            limit_keys=rng.choice(((None,), (None, "x"), ("x", "y"), ("x",))),
            unique_keys=rng.choice(((), ("u",), ("u", "v"))),
            unique_states=rng.choice(((LIVE,), (LIVE, ("scheduled", "ready")), _STATES)),
            expiries=rng.choice(((15.0,), (15.0,), (6.0,), (30.0,), (6.0, 15.0, 30.0))),
            max_crashes=rng.randint(1, 4),
            limits={queue: Limits.random(rng) for queue in queues if rng.random() < 0.5},
            faults=_some(rng, FAULTS),
            actors=_some(rng, ACTORS),
            fault_seconds=rng.choice((4.0, 10.0, 25.0)),
            verbs=_weights(rng),
            in_transaction=rng.choice((0.0, 0.2, 0.6)),
            waits=rng.choice((0.0, 0.5, 1.0)),
            hurry=rng.choice((0.03, 0.1, 0.25)),
            longest_step=rng.choice((0.5, 3.0, 8.0)),
            look_every=rng.choice((5, 12)),
            rng=rng,
        )
        return replace(chosen, **MOODS.get(mood, {}))

    def lines(self) -> list[str]:
        """As it is printed with a broken promise."""
        shown = (each.name for each in fields(self) if each.repr and each.name != "extras")
        return [f"  {name} = {_shown(getattr(self, name))}" for name in shown]


# Some things only happen when several rare circumstances meet.
MOODS: dict[str, dict[str, Any]] = {
    "processes die again and again, and the clock goes back": {
        "faults": frozenset({"crash", "freeze", "jump_back"}),
        "fault_seconds": 3.0,
        "expiries": (6.0,),
        "max_crashes": 6,
        "workers": 3,
        "batch": 6,
        "bulk": 8,
        "backlog": 15,
        "limits": {},
        "hurry": 0.25,
        "longest_step": 8.0,
    },
    "everybody is in everybody's way": {
        "actors": frozenset({"cancel", "operate", "pause", "configure"}),
        "queues": ("a",),
        "limits": {"a": Limits(concurrency=3)},
        "workers": 2,
        "runs": 4,
        "in_transaction": 0.6,
        "waits": 1.0,
        "hurry": 0.03,
        "longest_step": 0.5,
    },
    "many lanes, claimed one after the other": {
        "faults": frozenset(),
        "actors": frozenset({"cancel"}),
        "limits": {},
        "tenants": ("t1", "t2", "t3"),
        "priorities": (-1, 0, 1),
        "batch": 6,
        "bulk": 8,
        "backlog": 15,
        "in_transaction": 0.0,
        "hurry": 0.03,
    },
    "answers get lost": {
        "faults": frozenset({"lost_answer", "cut"}),
        "fault_seconds": 2.0,
        "expiries": (30.0,),
        "batch": 3,
    },
    "rates, and a clock that jumps": {
        "faults": frozenset({"jump", "jump_back"}),
        "fault_seconds": 4.0,
        "queues": ("a",),
        "limit_keys": ("x", "y"),
        "limits": {"a": Limits(rate_count=3, rate_seconds=10.0, key_rate_count=2, key_rate_seconds=5.0)},
    },
    "weeks go by": {
        "faults": frozenset({"jump"}),
        "actors": frozenset({"upkeep", "operate", "cancel"}),
        "in_transaction": 0.2,
    },
}
_STATES = (LIVE, (*LIVE, "dead"), (*LIVE, "done", "cancelled"))


def _some(rng: random.Random, names: tuple[str, ...]) -> frozenset[str]:
    share = rng.choice((0.15, 0.35, 0.7))
    return frozenset(name for name in names if rng.random() < share)


def _weights(rng: random.Random) -> dict[str, int]:
    chosen = {verb: rng.choice((0, 0, 1, 4)) for verb in VERBS}
    if not any(chosen[verb] for verb in ("done", "done_many", "fail", "bury", "cancel")):
        chosen["done"] = 2
    return chosen


def _shown(value: object) -> str:
    return ", ".join(sorted(value)) if isinstance(value, frozenset) else str(value)
