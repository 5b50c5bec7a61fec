"""Mutants of leases, idempotency, the outbox, schedules and steps: each must be found.

`seed` is one of the concept alone.
"""

from dataclasses import replace

from tests.simulation.mutants import Mutant

LEASES = (
    Mutant(
        "a guard does not ask for the token",
        "guard_lease",
        "if not found or v_lease.token <> guard_lease.token or guard_lease.token is null then",
        "if not found then",
    ),
    Mutant("a guard does not hold the lease", "guard_lease", "for key share;", ";"),
    Mutant(
        "a guard does not ask for the attempt",
        "guard_lease",
        "perform ostinato.fence_job(v_lease.job_id, v_lease.job_attempt);",
        "null;",
    ),
    Mutant(
        "anybody renews a lease",
        "renew_lease",
        "where (l.tenant_id, l.name, l.token) = (v_tenant, renew_lease.name, renew_lease.token)",
        "where (l.tenant_id, l.name) = (v_tenant, renew_lease.name)",
    ),
    Mutant(
        "a renewal leaves the doubt",
        "renew_lease",
        "renewed_at = ostinato.now(), doubted_at = null,",
        "renewed_at = ostinato.now(),",
    ),
    Mutant(
        "anybody gives a lease back",
        "release_lease",
        "where (l.tenant_id, l.name, l.token)"
        " = (v_tenant, release_lease.name, release_lease.token);",
        "where (l.tenant_id, l.name) = (v_tenant, release_lease.name);",
    ),
    Mutant(
        "a lease ends without grace",
        "is_lapsed",
        "and (coalesce($4 - $3 > make_interval(secs => $2), false) or not ostinato.in_grace($2))",
        "",
    ),
    Mutant(
        "a lease has no grace after a gap",
        "in_grace",
        "n.at < t.grace_until + make_interval(secs => $1) or",
        "",
    ),
    Mutant(
        "a lease never ends",
        "is_lapsed",
        "select ostinato.is_expired($1, $2, $4) and",
        "select false and",
    ),
    Mutant(
        "a lease of a job never ends",
        "lease_state",
        "v_over := not exists (select from job_unique u where u.job_id = lease.job_id);",
        "v_over := false;",
    ),
    Mutant(
        "a lease is taken without a lock",
        "take_lease",
        "for update skip locked;",
        ";",
    ),
    Mutant(
        "a lease is taken after a wait, without looking again",
        "take_lease",
        "select l.* into v_lease from lease l where (l.tenant_id, l.name) = (asked.tenant_id,"
        " asked.name) for update skip locked; v_own := ostinato.is_own_lease(v_lease, asked);"
        " if v_lease.name is null or (not v_own and ostinato.lease_state(v_lease)"
        " in ('held', 'late')) then",
        "perform from lease l where (l.tenant_id, l.name) = (asked.tenant_id, asked.name)"
        " for update; if false then",
    ),
    Mutant(
        "the next holder has the same token",
        "take_lease",
        "token = nextval('lease_token_seq')",
        "token = greatest(l.token, 1)",
    ),
    Mutant(
        "the next holder has the same attempt",
        "take_lease",
        "attempt = l.attempt + 1",
        "attempt = greatest(l.attempt, 1)",
    ),
)

IDEMPOTENCY = (
    Mutant(
        "a late holder finishes",
        "finish_idempotent",
        "and i.token = finish_idempotent.token and i.state = 'in_flight';",
        "and i.state = 'in_flight';",
    ),
    Mutant(
        "anybody renews a key",
        "renew_idempotent",
        "and i.token = renew_idempotent.token and i.state = 'in_flight'",
        "and i.state = 'in_flight'",
    ),
    Mutant(
        "a late holder frees the key",
        "abandon_idempotent",
        "delete from idempotency i"
        " where (i.tenant_id, i.scope, i.key)"
        " = (v_tenant, abandon_idempotent.scope, abandon_idempotent.key)"
        " and i.token = abandon_idempotent.token and i.state = 'in_flight';",
        "delete from idempotency i"
        " where (i.tenant_id, i.scope, i.key)"
        " = (v_tenant, abandon_idempotent.scope, abandon_idempotent.key);",
    ),
    Mutant(
        "a key is taken over although it was finished meanwhile",
        "take_key",
        "and (i.token, i.state, i.renewed_at) = (held.token, held.state, held.renewed_at);",
        ";",
    ),
    Mutant(
        "a key is taken over with the same attempt",
        "take_key",
        "then held.attempt + 1 else 1 end",
        "then held.attempt else 1 end",
    ),
    Mutant(
        "a key has no grace after an outage",
        "may_take_over",
        "ostinato.is_lapsed(held.renewed_at, held.lease_seconds, held.doubted_at, v_now)",
        "ostinato.is_expired(held.renewed_at, held.lease_seconds, v_now)",
    ),
    Mutant(
        "a key is never taken over",
        "may_take_over",
        "ostinato.is_lapsed(held.renewed_at, held.lease_seconds, held.doubted_at, v_now)",
        "false",
    ),
    Mutant(
        "a key is taken over at once",
        "begin_idempotent",
        "or (v_old.state = 'in_flight' and not ostinato.may_take_over(v_old));",
        ";",
    ),
    Mutant(
        "another request goes on with the first one",
        "begin_idempotent",
        "(v_old.expires_at > v_now and ostinato.differing_fields(v_old, v_new) is not null)",
        "false",
    ),
    Mutant(
        "an answer stands for ever",
        "begin_idempotent",
        "exit when v_old.state = 'done' and v_old.expires_at > v_now;",
        "exit when v_old.state = 'done';",
    ),
    Mutant(
        "tenants share their keys",
        "begin_idempotent",
        "v_tenant constant text := ostinato.tenant(begin_idempotent.tenant_id);",
        "v_tenant constant text := 't1';",
    ),
    Mutant(
        "asking without waiting waits",
        "begin_idempotent",
        "if not wait and not pg_try_advisory_xact_lock(v_lock) then",
        "if false then",
    ),
    Mutant(
        "keys that somebody works on are forgotten",
        "prune_idempotency",
        "and (d.state <> 'in_flight' or ostinato.is_lapsed("
        "d.renewed_at, d.lease_seconds, d.doubted_at, v_now))",
        "",
    ),
)

OUTBOX = (
    Mutant(
        "the sequencer never looks back: a cursor on ids",
        "sequence_events",
        "if v_ended then v_row.safe_seq := case when stamped < most then v_row.pending_seq"
        " else least(v_row.pending_seq, greatest(v_taken, v_row.safe_seq)) end; end if;",
        "v_row.safe_seq := greatest(v_taken, v_row.safe_seq);",
    ),
    Mutant(
        "the sequencer takes for safe what is still open",
        "sequence_events",
        "if v_ended then",
        "if true then",
    ),
    Mutant(
        "the sequencer has no lock",
        "sequence_events",
        "select * into v_row from event_sequencer for update skip locked;",
        "select * into v_row from event_sequencer;",
    ),
    Mutant(
        "events are in the order of their transactions",
        "sequence_events",
        "returning u.* ), stamped as ( insert into event_log (event_id, position, sequenced_at,"
        " type, tenant_id, ordering_key) select t.event_id, v_row.position"
        " + row_number() over (order by t.seq),",
        "returning u.*, u.xmin::text::bigint as told_by ), stamped as ( insert into event_log"
        " (event_id, position, sequenced_at, type, tenant_id, ordering_key) select t.event_id,"
        " v_row.position + row_number() over (order by t.told_by, t.seq),",
    ),
    Mutant(
        "a position is lost with every round",
        "sequence_events",
        "update event_sequencer set position = v_row.position + stamped,",
        "update event_sequencer set position = v_row.position + stamped + 1,",
    ),
    Mutant(
        "a writer does not hold its key",
        "emit_events",
        "perform ostinato.lock_keys(v_tenants, ordering_keys, cardinality(payloads));",
        "",
    ),
    Mutant(
        "a subscription has no lock",
        "lock_subscription",
        "where s.name = lock_subscription.name for update;",
        "where s.name = lock_subscription.name;",
    ),
    Mutant(
        "a subscription skips what does not fit in a batch",
        "read_log",
        "case when (select count(*) from matching) > most - v_found"
        " then (select max(c.position) from chosen c) else max(l.position) end as cursor",
        "max(l.position) as cursor",
    ),
    Mutant(
        "a lane is in several hands",
        "read_log",
        "exists (select from delivery o where o.subscription = v_sub.name and o.lane = c.lane"
        " and o.position >= v_sub.low and o.state <> 'buried')",
        "false",
    ),
    Mutant(
        "a delivery is settled by anybody",
        "settle_deliveries",
        "join held h on h.position = g.position and h.attempt = g.attempt",
        "join held h on h.position = g.position",
    ),
    Mutant(
        "a delivery is finished by anybody",
        "finish_delivery",
        "and d.attempt = finish_delivery.attempt and d.state = 'held';",
        "and d.state = 'held';",
    ),
    Mutant(
        "a delivery comes again with the same attempt",
        "take_deliveries",
        "state = 'held', attempt = d.attempt + 1,",
        "state = 'held', attempt = greatest(d.attempt, 1),",
    ),
    Mutant(
        "a delivery comes again before its time",
        "due_deliveries",
        "and d.state = 'waiting' and d.due_at < 'infinity' and d.due_at <= v_now",
        "and d.state = 'waiting' and d.due_at < 'infinity'",
    ),
    Mutant(
        "the living lose their deliveries",
        "lost_holders",
        "where not exists (select from worker w where w.id = h.worker_id)",
        "",
    ),
    Mutant(
        "a buried event blocks nothing",
        "open_lanes",
        "and b.state = 'buried' and b.position < f.position))",
        "and b.state = 'buried' and b.position < f.position and false))",
    ),
    Mutant(
        "the next event of a lane is never due",
        "settle_deliveries",
        "perform ostinato.open_lanes(v_sub, v_lanes);",
        "",
    ),
    Mutant(
        "attempts start again with a replay",
        "read_log",
        "constant integer := v_sub.replays * 1000000;",
        "constant integer := 0;",
    ),
    Mutant(
        "what waits at a replay keeps its row",
        "replay",
        "and d.state in ('buried', 'waiting') and d.position > v_cursor",
        "and d.state = 'buried' and d.position > v_cursor",
    ),
    Mutant(
        "what is held at a replay does not come again",
        "replay",
        "and d.state in ('held', 'done') and d.position > v_cursor",
        "and false",
    ),
    Mutant(
        "a paused subscription delivers",
        "take_deliveries",
        "if v_sub.paused or",
        "if",
    ),
)

SCHEDULES = (
    Mutant(
        "a ticker waits for another one",
        "fire_schedules",
        "order by d.next_at limit most for update skip locked) d;",
        "order by d.next_at limit most for update) d;",
    ),
    Mutant(
        "a ticker takes what another one has in hands",
        "fire_schedules",
        "order by d.next_at limit most for update skip locked) d;",
        "order by d.next_at limit most) d;",
    ),
    Mutant(
        "a slot fires again and again",
        "fire_set",
        "update schedule_due d set next_at = n.next_at, slot_at = n.slot_at,"
        " slot_local = n.slot_local, missed = n.missed from unnest(v_dues) n"
        " where d.schedule_id = n.schedule_id and n.next_at is not null;",
        "",
    ),
    Mutant(
        "slots fire too early",
        "fire_schedules",
        "where d.next_at <= v_now order by",
        "where d.next_at <= v_now + interval '5 seconds' order by",
    ),
    Mutant(
        "everything that was missed is caught up with",
        "plan_fires",
        "when 'all' then r.place <= s.catch_up_most",
        "when 'all' then true",
    ),
    Mutant(
        "the last that was missed fires beside a timely one",
        "plan_fires",
        "when 'last' then r.place = 1 and not r.any_timely",
        "when 'last' then r.place = 1",
    ),
    Mutant(
        "what is late counts as timely",
        "plan_fires",
        "now - make_interval(secs => s.grace_seconds)",
        "now - make_interval(secs => 10 * s.grace_seconds)",
    ),
    Mutant(
        "a paused schedule fires",
        "pause_schedule",
        "delete from schedule_due d where d.schedule_id = v_id;",
        "",
    ),
    Mutant(
        "a pause is caught up with",
        "resume_schedule",
        "perform ostinato.retime_schedules(array[v_id], ostinato.now());",
        "perform ostinato.retime_schedules(array[v_id], ostinato.now() - interval '5 minutes');",
    ),
    Mutant(
        "writing a schedule again forgets what is due",
        "upsert_schedules",
        "join schedule s using (tenant_id, name) where s.timed_at = v_now);",
        "join schedule s using (tenant_id, name));",
    ),
    Mutant(
        "schedules go by another clock",
        "fire_schedules",
        "constant timestamptz := ostinato.now();",
        "constant timestamptz := ostinato.now() + interval '1 minute';",
    ),
)

STEPS = (
    Mutant(
        "a stale worker saves steps",
        "save_steps",
        "join held h on h.job_id = g.job_id and h.attempt = g.attempt and h.claim_id = g.claim_id",
        "left join held h on h.job_id = g.job_id",
    ),
    Mutant(
        "saving a step does not hold the claim",
        "save_steps",
        "perform from claim c where c.id = any (v_claims) order by c.id for share;",
        "",
    ),
    Mutant(
        "a step is overwritten",
        "save_steps",
        "on conflict (job_id, position) do nothing returning 1",
        "on conflict (job_id, position) do update set attempt = excluded.attempt returning 1",
    ),
    Mutant(
        "a sleep is not stored",
        "sleep_jobs",
        "where ostinato.claim_of(g.job_id, g.attempt) = g.claim_id",
        "where false",
    ),
    Mutant(
        "a sleep begins again",
        "sleep_jobs",
        "select coalesce(greatest(0, extract(epoch from s.until - v_now)), 0)::double precision",
        "select seconds[g.n]",
    ),
    Mutant(
        "a stale worker lets the job sleep",
        "sleep_jobs",
        "where ostinato.claim_of(g.job_id, g.attempt) = g.claim_id",
        "",
    ),
    Mutant(
        "who waits looks first and registers then",
        "wait_jobs",
        "perform ostinato.take_events(job_ids);",
        "",
    ),
    Mutant(
        "waits are registered beside the gate",
        "wait_jobs",
        "lock table ostinato_data.wait_gate in row exclusive mode;",
        "",
    ),
    Mutant(
        "events are handed out beside the gate",
        "resolve_waits",
        "lock table ostinato_data.wait_gate in share row exclusive mode;",
        "",
    ),
    Mutant(
        "an event ends two waits of a job",
        "take_events",
        "and not exists (select from step s where s.job_id = w.job_id and s.event_id = e.id)",
        "",
    ),
    Mutant(
        "a job stays asleep when its event comes",
        "resolve_waits",
        "insert into job_wake (job_id) select e.job_id from ended e on conflict do nothing;",
        "insert into job_wake (job_id) select e.job_id from ended e where false"
        " on conflict do nothing;",
    ),
    Mutant(
        "a wait times out early",
        "expire_waits",
        "and w.deadline <= v_now",
        "",
    ),
)

CONCEPTS = {
    "leases": LEASES,
    "idempotency": IDEMPOTENCY,
    "outbox": OUTBOX,
    "schedules": SCHEDULES,
    "steps": STEPS,
}
MUTANTS = tuple(
    replace(mutant, concept=concept) for concept, of in CONCEPTS.items() for mutant in of
)
