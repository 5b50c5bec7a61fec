"""Plays for what builds on jobs: leases, idempotency, the outbox, schedules and steps.

    python -m tests.simulation --play coordination --seeds 5000
    python -m tests.simulation --play coordination --concept outbox --seed 17 --trace
    python -m tests.simulation --play coordination --mutants --seeds 100

The same stage, scheduler, faults and job engine as in the package above (`scene.py`). A seed draws
one concept or a few, and habits for each. A concept has actors, a model, and promises:

- `leases.py`: never two holders; tokens strictly increase; a guarded write commits only with the
  current token; a living holder is never displaced, through outages and clock jumps; a dead one is
  followed by the next; attempts are counted right; whoever attaches gets the holder's job
- `idempotency.py`: one effect per key; all answers are the same; another request is a conflict; a
  crash is taken over with attempt + 1; whoever comes late is refused; tenants do not meet
- `outbox.py`: no event is lost, none is told before its commit or after a rollback; positions have
  no gaps; events of a key come in the order of their commits; sequencers wait for nobody. What
  subscriptions make of them is in `tests/sql/test_lanes_at_random.py`
- `schedules.py`: each slot fires once, with a job of its own, however many tickers; what an outage
  missed fires by the policy; a pause is not caught up with; tickers wait for nobody
- `step_actors.py`: a committed step is neither repeated nor lost; stale ones are refused; a step's
  own writes take place once; sleeps end when they were to end; no wake-up is lost; an event ends
  one wait of a job
"""
