"""Mutants of schedules, steps and children."""

from tests.simulation.mutants import Mutant

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
        seed=9,
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
        seed=2,
    ),
    Mutant(
        "a pause is caught up with",
        "resume_schedule",
        "perform ostinato_internal.retime_schedules(array[v_id], ostinato.now());",
        "perform ostinato_internal.retime_schedules(array[v_id], ostinato.now() - interval '5 minutes');",
        seed=6,
    ),
    Mutant(
        "writing a schedule again forgets what is due",
        "upsert_schedules",
        "join schedule s using (tenant_id, name) where s.timed_at = v_now);",
        "join schedule s using (tenant_id, name));",
        seed=6,
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
        "join unnest(v_held) h on h = g.n",
        "left join unnest(v_held) h on h = g.n",
        seed=5,
    ),
    Mutant(
        "saving a step does not hold the claim",
        "lock_claims",
        "perform from claim c where c.id = any (v_claims) order by c.id for share;",
        "",
        seed=3,
    ),
    Mutant(
        "a step is overwritten",
        "save_steps",
        "on conflict (job_id, position) do nothing returning 1",
        "on conflict (job_id, position) do update set attempt = excluded.attempt returning 1",
        seed=1,
    ),
    Mutant("a sleep is not stored", "sleep_jobs", "where g.n = any (v_held)", "where false", seed=1),
    Mutant(
        "a sleep begins again",
        "sleep_jobs",
        "select coalesce(greatest(0, extract(epoch from s.until - v_now)), 0)::double precision",
        "select seconds[g.n]",
        seed=37,
    ),
    Mutant("a stale worker lets the job sleep", "sleep_jobs", "where g.n = any (v_held)", "", seed=2),
    Mutant(
        "who waits looks first and registers then",
        "wait_jobs",
        "perform ostinato_internal.take_events(job_ids);",
        "",
        seed=5,
    ),
    Mutant(
        "waits are registered beside the gate",
        "wait_jobs",
        "lock table ostinato_data.wait_gate in row exclusive mode;",
        "",
        seed=8,
    ),
    Mutant(
        "events are handed out beside the gate",
        "resolve_waits",
        "lock table ostinato_data.wait_gate in share row exclusive mode;",
        "",
        seed=8,
    ),
    Mutant(
        "an event ends two waits of a job",
        "take_events",
        "and not exists (select from step s where s.job_id = w.job_id and s.event_id = e.id)",
        "",
        seed=91,
    ),
    Mutant(
        "a job stays asleep when its event comes",
        "resolve_waits",
        "insert into job_wake (job_id) select e.job_id from ended e on conflict do nothing;",
        "insert into job_wake (job_id) select e.job_id from ended e where false on conflict do nothing;",
        seed=8,
    ),
    Mutant("a wait times out early", "expire_waits", "and w.deadline <= v_now", "", seed=88),
)

CHILDREN = (
    Mutant(
        "a join ends before its last child",
        "end_join",
        "if v_sum.total > v_sum.done + v_sum.failed + v_sum.cancelled",
        "if v_sum.total > 1 + v_sum.done + v_sum.failed + v_sum.cancelled",
    ),
    Mutant(
        "a join does not look at what ended before it",
        "join_jobs",
        "perform ostinato_internal.end_join(job_ids[h], positions[h]) from unnest(v_held) h;",
        "",
    ),
    Mutant(
        "ticks are counted again and again",
        "settle_groups",
        "delete from child_tick t where t.tenant_id = v_group.tenant_id and t.group_id = v_group.id returning t.*",
        "select t.* from child_tick t where t.tenant_id = v_group.tenant_id and t.group_id = v_group.id",
    ),
    Mutant(
        "a child that comes back still counts as dead",
        "retry_job",
        "ostinato_internal.count_children(array[retry_job.job_id], v_state, -1)",
        "ostinato_internal.count_children(array[retry_job.job_id], v_state, 0)",
    ),
    Mutant(
        "a buried child is not counted",
        "fail_jobs",
        "ostinato_internal.count_children(v_dead, 'dead'),",
        "ostinato_internal.count_children(v_dead, 'none'),",
    ),
)
