"""Plays for what builds on jobs: leases, idempotency, the outbox, schedules and steps.

    python -m tests.simulation --play coordination --seeds 5000

The same stage, scheduler, faults and job engine as in the package above. A seed draws one or a few
concepts, and habits for each. A concept is one module: its actors, its model, and its promises.

- `leases.py`: never two holders; tokens strictly increase; a guarded write commits only with the
  current token; a living holder is never displaced, through outages and clock jumps; a dead one is
  followed by the next; attempts are counted right; whoever attaches gets the holder's job
- `idempotency.py`: one effect per key; all answers are the same; another request is a conflict; a
  crash is taken over with attempt + 1; whoever comes late is refused; tenants do not meet
"""
