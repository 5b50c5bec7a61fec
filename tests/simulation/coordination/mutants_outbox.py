"""Mutants of the outbox."""

from tests.simulation.mutants import Mutant

OUTBOX = (
    Mutant(
        "the sequencer never looks back: a cursor on ids",
        "sequence_events",
        "if v_ended then v_row.safe_seq := case when stamped < most then v_row.pending_seq"
        " else least(v_row.pending_seq, greatest(v_taken, v_row.safe_seq)) end; end if;",
        "v_row.safe_seq := greatest(v_taken, v_row.safe_seq);",
        seed=19,
    ),
    Mutant(
        "the sequencer takes for safe what is still open",
        "sequence_events",
        "if v_ended then",
        "if true then",
        seed=25,
    ),
    Mutant(
        "the sequencer has no lock",
        "sequence_events",
        "select * into v_row from event_sequencer for update skip locked;",
        "select * into v_row from event_sequencer;",
        seed=2,
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
        seed=18,
    ),
    Mutant(
        "a position is lost with every round",
        "sequence_events",
        "update event_sequencer set position = v_row.position + stamped,",
        "update event_sequencer set position = v_row.position + stamped + 1,",
        seed=2,
    ),
    Mutant(
        "a writer does not hold its key",
        "emit_events",
        "perform ostinato.lock_keys(v_tenants, ordering_keys, cardinality(payloads));",
        "",
        seed=5,
    ),
    Mutant(
        "a subscription has no lock",
        "lock_subscription",
        "where s.name = lock_subscription.name for update;",
        "where s.name = lock_subscription.name;",
        seed=23,
    ),
    Mutant(
        "a subscription skips what does not fit in a batch",
        "read_log",
        "case when (select count(*) from matching) > most - v_found"
        " then (select max(c.position) from chosen c) else max(l.position) end as cursor",
        "max(l.position) as cursor",
        seed=3,
    ),
    Mutant(
        "a lane is in several hands",
        "read_log",
        "exists (select from delivery o where o.subscription = v_sub.name and o.lane = c.lane"
        " and o.position >= v_sub.low and o.state <> 'buried')",
        "false",
        seed=3,
    ),
    Mutant(
        "a delivery is settled by anybody",
        "settle_deliveries",
        "join held h on h.position = g.position and h.attempt = g.attempt",
        "join held h on h.position = g.position",
        seed=2,
    ),
    Mutant(
        "a delivery is finished by anybody",
        "finish_delivery",
        "and d.attempt = finish_delivery.attempt and d.state = 'held';",
        "and d.state = 'held';",
        seed=3,
    ),
    Mutant(
        "a delivery comes again with the same attempt",
        "take_deliveries",
        "state = 'held', attempt = d.attempt + 1,",
        "state = 'held', attempt = greatest(d.attempt, 1),",
        seed=2,
    ),
    Mutant(
        "a delivery comes again before its time",
        "due_deliveries",
        "and d.state = 'waiting' and d.due_at < 'infinity' and d.due_at <= v_now",
        "and d.state = 'waiting' and d.due_at < 'infinity'",
        seed=5,
    ),
    Mutant(
        "the living lose their deliveries",
        "lost_holders",
        "where not exists (select from worker w where w.id = h.worker_id)",
        "",
        seed=2,
    ),
    Mutant(
        "a buried event blocks nothing",
        "open_lanes",
        "and b.state = 'buried' and b.position < f.position))",
        "and b.state = 'buried' and b.position < f.position and false))",
        seed=127,
    ),
    Mutant(
        "the next event of a lane is never due",
        "settle_deliveries",
        "perform ostinato.open_lanes(v_sub, v_lanes);",
        "",
        seed=3,
    ),
    Mutant(
        "attempts start again with a replay",
        "read_log",
        "constant integer := v_sub.replays * 1000000;",
        "constant integer := 0;",
        seed=6,
    ),
    Mutant(
        "what waits at a replay keeps its row",
        "replay",
        "and d.state in ('buried', 'waiting') and d.position > v_cursor",
        "and d.state = 'buried' and d.position > v_cursor",
        seed=15,
    ),
    Mutant(
        "what is held at a replay does not come again",
        "replay",
        "and d.state in ('held', 'done') and d.position > v_cursor",
        "and false",
        seed=15,
    ),
    Mutant(
        "a paused subscription delivers",
        "take_deliveries",
        "if v_sub.paused or",
        "if",
    ),
)
