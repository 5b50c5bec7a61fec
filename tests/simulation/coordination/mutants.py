"""Mutants of leases, idempotency, the outbox, schedules, steps and children: each must be found.

`seed` is one of the concept alone.
"""

from dataclasses import replace

from tests.simulation.coordination.mutants_exclusive import IDEMPOTENCY, LEASES
from tests.simulation.coordination.mutants_jobs import CHILDREN, SCHEDULES, STEPS
from tests.simulation.coordination.mutants_outbox import OUTBOX

CONCEPTS = {"leases": LEASES, "idempotency": IDEMPOTENCY, "outbox": OUTBOX, "schedules": SCHEDULES, "steps": STEPS}
CONCEPTS["children"] = CHILDREN
MUTANTS = tuple(replace(mutant, concept=concept) for concept, of in CONCEPTS.items() for mutant in of)
