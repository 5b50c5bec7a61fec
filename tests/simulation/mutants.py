"""Mutants: the engine with one thing broken. Each must be found, or the simulation is too weak.

A mutant replaces one piece of a function by another; the piece must be there exactly once, so that
a mutant cannot rot. `seed` is one that finds it fast; the test tries it first, then a few others.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files

from ostinato._core.db.bundle import function_name, replacing
from ostinato._core.db.sqlfile import split
from tests.simulation.arena import Arena

FUNCTIONS = files("ostinato._core.engine").joinpath("sql", "functions")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One thing broken in one function."""

    name: str
    function: str
    old: str
    new: str
    seed: int = 1
    concept: str = ""
    """Of which concept of the coordination play; none: of the jobs."""

    def statements(self) -> tuple[str, str]:
        """The function as it is, and as the mutant has it."""
        found = [
            text
            for file in sorted(FUNCTIONS.iterdir(), key=lambda file: file.name)
            for text in split(file.read_text("utf-8"))
            if function_name(text) == f"ostinato.{self.function}"
        ]
        if len(found) != 1:
            raise LookupError(f"{self.name}: {len(found)} functions {self.function}")
        pieces = re.findall(_loosely(self.old), found[0])
        if len(pieces) != 1:
            raise LookupError(f"{self.name}: {self.function} has {len(pieces)} times: {self.old}")
        return replacing(found[0]), replacing(found[0].replace(pieces[0], self.new))

    @contextmanager
    def applied(self, arena: Arena) -> Iterator[None]:
        """The arena with this mutant's function, and afterwards with the right one again."""
        original, mutated = self.statements()
        arena.replace(mutated)
        try:
            yield
        finally:
            arena.replace(original)


def _loosely(piece: str) -> str:
    """A pattern for a piece of SQL that does not care how it is spaced."""
    return r"\s+".join(re.escape(word) for word in piece.split())


MUTANTS = (
    # Fencing.
    Mutant(
        "finishing does not ask for the attempt",
        "settle",
        "on g.job_id = h.job_id and g.attempt = h.attempt and g.claim_id = h.claim_id",
        "on g.job_id = h.job_id and g.claim_id = h.claim_id",
        seed=7,
    ),
    Mutant(
        "finishing does not ask for the claim",
        "settle",
        "and g.attempt = h.attempt and g.claim_id = h.claim_id",
        "and g.attempt = h.attempt",
        seed=2,
    ),
    Mutant(
        "finishing does not lock the claim",
        "settle",
        "perform from claim c where c.id = any (v_claims) order by c.id for update;",
        "",
        seed=1,
    ),
    Mutant(
        "finishing leaves the job in its claim",
        "settle",
        "from matched m where m.n is null group by m.claim_id",
        "from matched m group by m.claim_id",
    ),
    Mutant(
        "a batch that is finished in part is all gone",
        "settle",
        "and not exists (select from rest r where r.claim_id = c.id)",
        "",
        seed=2,
    ),
    Mutant(
        "the fence does not hold the claim",
        "fence_job",
        "perform from claim c where c.id = v_claim for share;",
        "",
        seed=64,
    ),
    Mutant(
        "the fence believes the claim that it is told",
        "fence_job",
        "ostinato.claim_of(fence_job.job_id, fence_job.attempt) is distinct from v_claim",
        "ostinato.claim_of(fence_job.job_id, fence_job.attempt) is null",
        seed=28,
    ),
    Mutant(
        "progress is noted for anybody",
        "note_progress",
        "where c.id = g.claim_id and (h.job_id, h.attempt) = (g.job_id, g.attempt))",
        "where h.job_id = g.job_id)",
        seed=27,
    ),
    # Claims.
    Mutant(
        "a claim waits for the rows of others",
        "take_turns",
        "order by r.position limit v_share for update skip locked",
        "order by r.position limit v_share for update",
        seed=5,
    ),
    Mutant(
        "a claim looks first and takes later",
        "take_turns",
        "order by r.position limit v_share for update skip locked",
        "order by r.position limit v_share",
        seed=5,
    ),
    Mutant(
        "a claim leaves the job in line",
        "take_turns",
        "delete from ready r where r.ctid = any (array(select p.row_id from picked p))"
        " returning r.job_id, r.position, r.attempt, r.failures, r.crashes, r.tenant_id, r.keyed",
        "select r.job_id, r.position, r.attempt, r.failures, r.crashes, r.tenant_id, r.keyed"
        " from ready r where r.ctid = any (array(select p.row_id from picked p))",
    ),
    Mutant(
        "a claim takes the newest first",
        "take_turns",
        "order by r.position limit v_share",
        "order by r.position desc limit v_share",
    ),
    Mutant(
        "a claim of all waits for the rows of others",
        "take_all",
        "limit wanted for update skip locked",
        "limit wanted for update",
        seed=13,
    ),
    Mutant(
        "a claim of all leaves the jobs in line",
        "take_all",
        "delete from ready r where r.ctid = any (array("
        " select s.ctid from ready s"
        " where s.queue = take_all.queue and s.crashes < 2"
        " and (kinds is null or s.kind = any (kinds))"
        " order by s.queue, s.priority, s.tenant_id, s.position limit wanted"
        " for update skip locked))"
        " returning r.job_id, r.position, r.attempt, r.failures, r.crashes, r.keyed, r.priority",
        "select r.* from ready r where r.queue = take_all.queue and r.crashes < 2"
        " and (kinds is null or r.kind = any (kinds)) limit wanted",
    ),
    Mutant(
        "a claim of all forgets those that crashed a process",
        "claim_jobs",
        "and v_crash < 2 then",
        "then",
        seed=33,
    ),
    Mutant(
        "a claim never looks beyond the lanes that it remembers",
        "take_lanes",
        "exit when cardinality(v_batch.job_ids) >= wanted or"
        " (v_fresh and (coalesce(v_lanes.found, 0) < 256 or v_poor = 4));",
        "exit;",
        seed=21,
    ),
    Mutant(
        "a claim takes suspects by the dozen",
        "take_suspect",
        "order by s.position limit 1 for update skip locked",
        "order by s.position limit 12 for update skip locked",
        seed=43,
    ),
    Mutant(
        "a paused queue goes on",
        "claim_jobs",
        "if v_queue.paused then",
        "if false then",
        seed=4,
    ),
    Mutant(
        "a claim does not look again whether the queue is paused",
        "claim_jobs",
        "v_wanted := case when v_queue.paused then 0 else",
        "v_wanted := case when false then 0 else",
        seed=8,
    ),
    # Rescue.
    Mutant(
        "no grace after an outage",
        "rescue_jobs",
        "if ostinato.tick() then",
        "perform ostinato.tick(); if false then",
    ),
    Mutant(
        "no grace when the clock went back",
        "tick",
        "if v_now < v_tick.last - interval '1 second' or v_now",
        "if v_now",
        seed=4,
    ),
    Mutant(
        "a gap is only seen after a minute",
        "tick",
        "make_interval(secs => v_expiry.least * 7 / 15)",
        "interval '1 minute'",
        seed=3,
    ),
    Mutant(
        "a beat in the future counts",
        "is_expired",
        "or beat_at - at > make_interval(secs => expiry_seconds)",
        "",
        seed=17,
    ),
    Mutant(
        "the beat is by the time of another clock",
        "heartbeat_worker",
        "update worker w set beat_at = ostinato.now()",
        "update worker w set beat_at = clock_timestamp()",
    ),
    Mutant(
        "the time stands still in a transaction",
        "fake_now",
        "return (select coalesce(c.frozen, clock_timestamp()) + c.shift from test_clock c);",
        """
        if current_setting('simulation.transaction', true) = pg_current_xact_id()::text then
            return current_setting('simulation.time')::timestamptz;
        end if;
        perform set_config('simulation.transaction', pg_current_xact_id()::text, true),
            set_config('simulation.time', (select c.frozen from test_clock c)::text, true);
        return current_setting('simulation.time')::timestamptz;
        """,
        seed=1,
    ),
    Mutant(
        "a rescued job keeps its attempt",
        "rescue_claim",
        "select ostinato.new_id(), l.job_id, l.attempt + 1,",
        "select ostinato.new_id(), l.job_id, l.attempt,",
        seed=2,
    ),
    Mutant(
        "a rescued job stays in its claim",
        "rescue_claim",
        "delete from claim c where c.id = rescue_claim.claim_id returning * into v_claim;",
        "select * into v_claim from claim c where c.id = rescue_claim.claim_id;",
        seed=2,
    ),
    Mutant(
        "crashes are not counted",
        "rescue_claim",
        "l.failures, l.crashes + 1, l.keyed",
        "l.failures, l.crashes, l.keyed",
        seed=2,
    ),
    Mutant(
        "one crash more than allowed",
        "rescue_claim",
        "when h.crashes + 1 >= max_crashes then 'dead'",
        "when h.crashes >= max_crashes then 'dead'",
        seed=10,
    ),
    Mutant(
        "a rescue takes claims that are being finished",
        "rescue_jobs",
        "for update of c skip locked",
        "for update of c",
        seed=20,
    ),
    Mutant(
        "what got lost on the way is given back too early",
        "reconcile_worker",
        "and c.claimed_at < ostinato.now() - make_interval(secs => seconds)",
        "",
        seed=33,
    ),
    # Waiting jobs.
    Mutant(
        "a released job gets its attempt again",
        "release_jobs",
        "select s.position, s.job_id, s.attempt + 1,",
        "select s.position, s.job_id, s.attempt,",
        seed=4,
    ),
    Mutant(
        "a job whose time has come is copied",
        "promote_jobs",
        "with due as ( delete from scheduled s where s.ctid = any (array("
        " select d.ctid from scheduled d where d.run_at <= v_now order by d.run_at limit most"
        " for update skip locked)) returning s.* )",
        "with due as ( select s.* from scheduled s where s.ctid = any (array("
        " select d.ctid from scheduled d where d.run_at <= v_now order by d.run_at limit most"
        " for update skip locked)) )",
    ),
    Mutant(
        "jobs come a second too early",
        "promote_jobs",
        "where d.run_at <= v_now order",
        "where d.run_at <= v_now + interval '1 second' order",
        seed=5,
    ),
    Mutant(
        "a failure is not counted",
        "fail_jobs",
        "s.priority, s.failures + 1, s.crashes",
        "s.priority, s.failures, s.crashes",
    ),
    # Limits.
    Mutant(
        "limits are counted without the lock of the queue",
        "claim_jobs",
        "select * into v_queue from queue q where q.name = claim_jobs.queue for update;",
        "select * into v_queue from queue q where q.name = claim_jobs.queue;",
        seed=3,
    ),
    Mutant(
        "the limit of a key does not see what runs",
        "free_keys",
        "- coalesce(b.running, 0)",
        "",
        seed=3,
    ),
    Mutant(
        "the limit of a key does not see older claims",
        "running_keys",
        "where c.queue = $1 and c.limit_keys is null and j.limit_key is not null",
        "where false",
        seed=11,
    ),
    Mutant(
        "a rate forgets its starts",
        "note_starts",
        "select limits.name, '', at, cardinality(batch.job_ids)",
        "select limits.name, '', at, 1",
        seed=14,
    ),
    Mutant(
        "a rate waits for a clock that went back",
        "recent_starts",
        "and u.started_at <= ostinato.now() + make_interval(secs => $3)",
        "",
        seed=19,
    ),
    # Unique keys.
    Mutant(
        "a unique key is freed at the first run",
        "claim_jobs",
        "perform ostinato.free_unique_keys(v_batch.job_ids, 'running');",
        "delete from job_unique u where u.job_id = any (v_batch.job_ids);",
    ),
    Mutant(
        "a unique key is never freed",
        "complete_jobs",
        "if v_keyed then",
        "if false then",
    ),
    Mutant(
        "a job comes back without its unique key",
        "retry_job",
        "perform ostinato.rehold_unique_key(retry_job.job_id);",
        "null;",
        seed=1,
    ),
    # Operators.
    Mutant(
        "a job that runs cannot be cancelled",
        "cancel_job",
        "insert into cancel_request (job_id, requested_at, reason)"
        " values (cancel_job.job_id, ostinato.now(), cancel_job.reason) on conflict do nothing;",
        "",
    ),
    Mutant(
        "a request to cancel is forgotten with the run",
        "forget_run",
        "delete from cancel_request r where r.job_id = any (ended);",
        "delete from cancel_request r where r.job_id = any (job_ids);",
        seed=199,
    ),
    Mutant(
        "two retries of one job at once",
        "retry_job",
        "perform from job j where j.id = retry_job.job_id for update;",
        "",
        seed=5,
    ),
    Mutant(
        "a job comes back with a used attempt",
        "redrive_jobs",
        "select ostinato.new_id(), g.id, g.attempt + 1,",
        "select ostinato.new_id(), g.id, g.attempt,",
        seed=24,
    ),
    Mutant(
        "retention forgets what waits",
        "needed_jobs",
        "select s.job_id from scheduled s where s.job_id >= $1 and s.job_id < $2",
        "select 0::bigint where false",
        seed=98,
    ),
)
