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
        "the sequencer takes for safe what is still open", "sequence_events", "if v_ended then", "if true then", seed=25
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
        "perform ostinato_internal.lock_keys(v_tenants, ordering_keys, cardinality(payloads));",
        "",
        seed=5,
    ),
)
