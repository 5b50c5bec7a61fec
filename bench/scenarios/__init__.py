"""The scenarios behind our own targets: each runs a system against itself in a harder case."""

from collections.abc import Callable, Mapping

from bench.catalog import System
from bench.measure import Bench, Figures
from bench.scenarios import backlog, contend, limit, schedules, snapshot, steps, sustained, tenants, trickle

Scenario = Callable[[Bench, System], Figures]

SCENARIOS: Mapping[str, Scenario] = {
    "limit": limit.run,
    "snapshot": snapshot.run,
    "backlog": backlog.run,
    "tenants": tenants.run,
    "contend": contend.run,
    "sustained": sustained.run,
    "steps": steps.run,
    "trickle": trickle.run,
    "schedules": schedules.run,
}

# These ask for our own functions or tenants; the others can be run on any peer by name.
OURS_ONLY = frozenset({"limit", "tenants", "schedules"})

# These are a comparison with peers, and always run on these.
BESIDE: Mapping[str, frozenset[str]] = {"steps": steps.SYSTEMS, "trickle": trickle.SYSTEMS}
