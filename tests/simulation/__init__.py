"""A deterministic simulation of the job engine on the real PostgreSQL.

    python -m tests.simulation --seeds 5000              many seeds, until one breaks a promise
    python -m tests.simulation --seed 17 --trace         one seed, step by step
    python -m tests.simulation --mutants --seeds 300     how many seeds each mutant survives
    python -m tests.simulation --play coordination       leases, outbox, schedules, steps, …

**The idea.** Bugs of a job engine live between two statements: somebody dies, freezes, jumps the
clock or gets in between. So one thread plays everybody. Workers, clients, operators and a nemesis
are Python generators, each over a connection of its own; a seeded scheduler picks whose turn it is,
one statement at a time, while all other transactions stay open and keep their locks. The clock is a
row in the database that the scheduler moves. Nothing depends on the speed of the machine: the same
seed is the same run, to the last line of its trace. A seed is a bug report.

**Who plays** (a random selection per seed, with random habits; `config.py`):

    clients.py     enqueue one, many, later, with limit keys and unique keys, in transactions that
                   may roll back
    workers.py     register, beat, poll, claim with a cursor, reconcile, stop; die, freeze past
                   their expiry and go on with stale tokens
    runs.py        end runs: effect and completion in one transaction, writes under the fence,
                   progress, and every verb for parts of a batch, two at once
    operators.py   cancel, retry, redrive, pause, configure, upkeep; replay old and forged tokens
    nemesis.py     crashes, freezes, answers that get lost, cut connections, outages, clock jumps

**How it judges.** `model.py` follows every committed answer in plain Python, without locks, rows or
arrays; an answer that it cannot follow is a broken promise. Again and again all tables are compared
with it. At the end the faults stop, a healthy worker drains what is left, and:

- every committed job is in exactly one place and comes to an end; none is lost, none runs twice
- a transactional effect takes place exactly once; outcomes count up, one per attempt
- no stale or forged token changes anything; the holder of a job is never refused
- a fenced write commits only while its job is held
- a living worker keeps its jobs, through outages and clock jumps; nobody counts as dead early
- crashes lead to `worker_lost` at `max_crashes` and not before; other counts are exact
- limits hold at every claim; a paused queue yields nothing; nothing starts before its time
- priority first, then time; a claim leaves nothing behind that it could take
- one live job per unique key; a key is freed with its job
- a cancelled job does not run again; nothing is left over of a run that ended
- claims, beats and polls wait for nobody; no part of a poll fails
- retention forgets only what is finished and old

**The second play** is about what builds on jobs: leases, idempotency, the outbox, schedules, steps.
It shares the stage, the faults and the jobs; see the package `coordination`.

**Who guards the guards.** `mutants.py` breaks the engine in one place at a time; each mutant has to
be found. Step by step, a concept that joins the engine joins the simulation: an actor, its verbs in
the model, its promises, its mutants.
"""
