"""Mutants: the engine with one thing broken. Each must be found, or the simulation is too weak.

A mutant replaces one piece of a function by another; the piece must be there exactly once, so that
a mutant cannot rot. `seed` is one that finds it fast; the test tries it first, then a few others.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ostinato._core.db.bundle import function_name, replacing
from ostinato._core.db.sqlfile import split
from tests.simulation.arena import Arena

FUNCTIONS = files("ostinato._core.engine").joinpath("sql", "functions")


@cache
def functions() -> dict[str, list[str]]:
    """The text of every function, by its name; some have several forms."""
    found: dict[str, list[str]] = {}
    for file in sorted(FUNCTIONS.iterdir(), key=lambda file: file.name):
        for text in split(file.read_text("utf-8")):
            found.setdefault((function_name(text) or "").rpartition(".")[2], []).append(text)
    return found


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
        texts = functions().get(self.function, ())
        found = [(text, piece) for text in texts for piece in re.findall(_loosely(self.old), text)]
        if len(found) != 1:
            raise LookupError(f"{self.name}: {self.function} has {len(found)} times: {self.old}")
        ((text, piece),) = found
        return replacing(text), replacing(text.replace(piece, self.new))

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
        "and g.attempt = h.attempt and g.claim_id in (h.claim_id, h.split_from)",
        "and g.claim_id in (h.claim_id, h.split_from)",
        seed=36,
    ),
    Mutant(
        "finishing does not ask for the claim",
        "settle",
        "and g.attempt = h.attempt and g.claim_id in (h.claim_id, h.split_from)",
        "and g.attempt = h.attempt",
        seed=20,
    ),
    Mutant(
        "finishing does not lock the claim",
        "lock_claims",
        "perform from claim c where c.id = any (v_claims) order by c.id for update;",
        "",
        seed=18,
    ),
    Mutant(
        "finishing leaves the job in its claim",
        "settle",
        "where m.n is null group by m.claim_id",
        "group by m.claim_id",
    ),
    Mutant(
        "one job of a batch takes the whole claim along",
        "settle",
        "and c.job_ids = settle.job_ids and c.attempts = settle.attempts",
        "",
    ),
    Mutant(
        "a batch that is finished in part is all gone",
        "settle",
        "and not exists (select from rest r where r.claim_id = c.id)",
        "",
        seed=4,
    ),
    Mutant(
        "the fence does not hold the claim",
        "lock_claims",
        "perform from claim c where c.id = any (v_claims) order by c.id for share;",
        "",
        seed=11,
    ),
    Mutant(
        "the fence believes the claim that it is told",
        "held_among",
        "and h.attempt = g.attempt and g.claim_id in (h.claim_id, h.split_from)",
        "and h.attempt = g.attempt",
        seed=54,
    ),
    Mutant(
        "progress is noted for anybody",
        "note_progress",
        "where g.n = any (v_held) order by g.job_id",
        "order by g.job_id",
        seed=27,
    ),
    # A claim of one job.
    # That a job apart is ended by its own attempt only: a forged attempt with the right claim is too rare here, so
    # test_apart.py has it, as "the token of a job apart is stale after it left".
    Mutant(
        "a verdict does not look where a job was split to",
        "claims_named",
        "if exists (select from claim c where c.split_from is not null) then",
        "if false then",
        seed=6,
    ),
    Mutant(
        "a verdict looks only once where a job is",
        "lock_claims",
        "exit when v_claims = v_locked;",
        "exit when v_locked is not null;",
        seed=63,
    ),
    Mutant(
        "a second split takes the job out of its own claim",
        "split_claims",
        "and not exists (select from claim c where c.job_id = g.job_id)",
        "",
        seed=10,
    ),
    Mutant("a split waits for the claim", "split_claims", "for update skip locked", "for update", seed=23),
    Mutant(
        "a split forgets the crashes of a job",
        "split_claims",
        "array[m.failures], array[m.crashes], m.limit_keys",
        "array[m.failures], array[0::smallint], m.limit_keys",
        seed=38,
    ),
    # What has begun.
    Mutant("a claim that shrinks forgets what waits", "settle", "waiting = r.waiting", "waiting = 0", seed=2),
    Mutant(
        "a mark takes an earlier one back",
        "begin_jobs",
        "least(c.waiting, cardinality(c.job_ids) - b.at)",
        "cardinality(c.job_ids) - b.at",
        seed=10,
    ),
    Mutant(
        "a job is marked alone in a claim that it shares",
        "begin_jobs",
        "begin_jobs.alone and c.job_id is not null",
        "begin_jobs.alone",
        seed=4,
    ),
    Mutant(
        "what had not begun is suspected",
        "crashes_after",
        "when not begun then crashes",
        "when false then crashes",
        seed=2,
    ),
    Mutant(
        "what had not begun counts as lost",
        "rescue_claims",
        "when not h.begun then 'waits'",
        "when false then 'waits'",
        seed=2,
    ),
    # Claims.
    Mutant(
        "a claim waits for the rows of others",
        "take_turns",
        "order by r.position limit v_share for update skip locked",
        "order by r.position limit v_share for update",
        seed=1,
    ),
    Mutant(
        "a claim looks first and takes later",
        "take_turns",
        "order by r.position limit v_share for update skip locked",
        "order by r.position limit v_share",
        seed=1,
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
        seed=23,
    ),
    Mutant(
        "a claim of all leaves the jobs in line",
        "take_all",
        "delete from ready r where r.ctid = any (array("
        " select s.ctid from ready s"
        " where s.queue = take_all.queue and s.crashes < ostinato_internal.suspect_crashes()"
        " and (kinds is null or s.kind = any (kinds)) and s.tenant_id <> all (v_moving)"
        " order by s.queue, s.priority, s.tenant_id, s.position limit wanted"
        " for update skip locked))"
        " returning r.job_id, r.position, r.attempt, r.failures, r.crashes, r.keyed, r.priority",
        "select r.* from ready r where r.queue = take_all.queue and r.crashes < 2"
        " and (kinds is null or r.kind = any (kinds)) limit wanted",
    ),
    Mutant(
        "a claim of all forgets those that crashed a process",
        "claim_jobs",
        "and v_crash < ostinato_internal.suspect_crashes() then",
        "then",
        seed=27,
    ),
    # That a claim looks beyond the lanes that it remembers: those are hardly ever fresh on a clock that jumps, so
    # test_claims.py has it, as "a claim is full even where the ring of lanes ends".
    Mutant("a paused queue goes on", "claim_jobs", "v_there = 0 or v_queue.paused", "v_there = 0", seed=4),
    Mutant(
        "a worker that was declared dead claims",
        "claim_jobs",
        "or not exists (select from worker w where w.id = claim_jobs.worker_id) then",
        "then",
    ),
    Mutant(
        "a claim does not look again whether the queue is paused",
        "claim_jobs",
        "select * into v_queue from queue q where q.name = claim_jobs.queue for update;",
        "perform from queue q where q.name = claim_jobs.queue for update;",
        seed=8,
    ),
    # Rescue.
    Mutant(
        "no grace after an outage",
        "rescue_jobs",
        "v_grace constant boolean := ostinato_internal.tick();",
        "v_grace constant boolean := ostinato_internal.tick() and false;",
    ),
    Mutant(
        "no grace when the clock went back",
        "tick",
        "if v_now < v_tick.last - interval '1 second' or v_now",
        "if v_now",
        seed=11,
    ),
    Mutant(
        "a gap is only seen after a minute",
        "tick",
        "make_interval(secs => ostinato_internal.gap_seconds(v_expiry.least))",
        "interval '1 minute'",
        seed=1,
    ),
    Mutant(
        "a beat in the future counts",
        "is_expired",
        "or beat_at - at > make_interval(secs => expiry_seconds)",
        "",
        seed=12,
    ),
    Mutant(
        "the beat is by the time of another clock",
        "heartbeat_worker",
        "update worker w set beat_at = ostinato.now()",
        "update worker w set beat_at = clock_timestamp()",
    ),
    # That the time goes on within a transaction shows in few histories: test_clock.py has it, by that name.
    Mutant(
        "a rescued job keeps its attempt",
        "rescue_claims",
        "ostinato_internal.place_of(j, h.position, h.attempt + 1,",
        "ostinato_internal.place_of(j, h.position, h.attempt,",
        seed=2,
    ),
    Mutant(
        "a rescued job stays in its claim",
        "rescue_claims",
        "delete from claim c where c.id = any (claim_ids) returning c.*, cardinality(c.job_ids) - c.waiting as first",
        "select c.*, cardinality(c.job_ids) - c.waiting as first from claim c where c.id = any (claim_ids)",
        seed=2,
    ),
    Mutant(
        "crashes are not counted",
        "crashes_after",
        "least(crashes + 1, ostinato_internal.suspect_crashes())",
        "crashes",
        seed=2,
    ),
    Mutant(
        "a rescue takes claims that are being finished",
        "rescue_jobs",
        "for update of c skip locked",
        "for update of c",
        seed=2,
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
        "ostinato_internal.place_of(j, s.position, s.attempt + 1,",
        "ostinato_internal.place_of(j, s.position, s.attempt,",
        seed=4,
    ),
    Mutant(
        "a job whose time has come is copied",
        "promote_jobs",
        "with due as ( delete from scheduled s where s.ctid = any (array("
        " select d.ctid from scheduled d where d.run_at <= v_now order by d.run_at limit most"
        " for update skip locked)) returning s as was )",
        "with due as ( select s as was from scheduled s where s.ctid = any (array("
        " select d.ctid from scheduled d where d.run_at <= v_now order by d.run_at limit most"
        " for update skip locked)) )",
    ),
    Mutant(
        "jobs come a second too early",
        "promote_jobs",
        "where d.run_at <= v_now order",
        "where d.run_at <= v_now + interval '1 second' order",
        seed=4,
    ),
    Mutant(
        "a failure is not counted",
        "fail_jobs",
        "s.attempt + 1, s.failures + 1, s.crashes",
        "s.attempt + 1, s.failures, s.crashes",
    ),
    # Limits.
    Mutant(
        "limits are counted without the lock of the queue",
        "claim_jobs",
        "select * into v_queue from queue q where q.name = claim_jobs.queue for update;",
        "select * into v_queue from queue q where q.name = claim_jobs.queue;",
        seed=3,
    ),
    Mutant("the limit of a key does not see what runs", "free_keys", "- coalesce(b.running, 0)", "", seed=2),
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
        "perform ostinato_internal.free_unique_keys(v_batch.job_ids, 'running');",
        "delete from job_unique u where u.job_id = any (v_batch.job_ids);",
    ),
    Mutant("a unique key is never freed", "complete_jobs", "if v_keyed then", "if false then"),
    Mutant(
        "a job comes back without its unique key",
        "retry_job",
        "perform ostinato_internal.rehold_unique_key(retry_job.job_id),\n                   ",
        "perform",
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
        seed=20,
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
        "ostinato_internal.place_of(j, 0, d.attempt + 1,",
        "ostinato_internal.place_of(j, 0, d.attempt,",
        seed=2,
    ),
    # That retention keeps what waits takes weeks with the same job: test_upkeep.py has it, as "what is still needed
    # survives its week".
)

DEADLY = (
    Mutant(
        "a claim takes suspects by the dozen",
        "take_suspect",
        "order by s.position limit 1 for update skip locked",
        "order by s.position limit 12 for update skip locked",
    ),
    Mutant(
        "a job that ran beside others is held to be guilty",
        "crashes_after",
        "greatest(crashes, least(crashes + 1, ostinato_internal.suspect_crashes()))",
        "crashes + 1",
    ),
)
"""Those that only show when the same jobs lose several processes: see test_kills."""
