-- Who may call what. Workers everything; tenants what enqueueing needs, under row-level security.
revoke execute on all functions in schema ostinato from public;
grant usage on schema ostinato to ostinato_worker, ostinato_tenant;
grant execute on all functions in schema ostinato to ostinato_worker;
grant execute on function
    ostinato.now, ostinato.fake_now, ostinato.first_id, ostinato.new_id, ostinato.contract, ostinato.tenant, ostinato.correlation, ostinato.pick,
    ostinato.check_args, ostinato.check_name, ostinato.check_options, ostinato.check_lengths, ostinato.check_sets,
    ostinato.enqueue_job, ostinato.enqueue_jobs, ostinato.hold_unique_key
to ostinato_tenant;
grant execute on function
    ostinato.begin_idempotent, ostinato.renew_idempotent, ostinato.finish_idempotent, ostinato.abandon_idempotent, ostinato.check_idempotent,
    ostinato.key_lock, ostinato.seal, ostinato.sealed_request, ostinato.differing_fields, ostinato.may_take_over, ostinato.take_key, ostinato.refuse_key,
    ostinato.in_grace, ostinato.is_expired, ostinato.is_lapsed, ostinato.is_new_doubt,
    ostinato.acquire_lease, ostinato.take_lease, ostinato.renew_lease, ostinato.guard_lease, ostinato.release_lease,
    ostinato.enqueue_or_attach, ostinato.check_lease, ostinato.lease_state, ostinato.is_own_lease, ostinato.refuse_lease, ostinato.refuse_held
to ostinato_tenant;
-- Machines: any role lets events happen to the rows that it may change; whoever migrates installs and attaches them.
grant execute on function
    ostinato.transition, ostinato.transition_all, ostinato.check_transitions, ostinato.changed_columns, ostinato.open_pass, ostinato.close_pass,
    ostinato.allowed_events, ostinato.allowed_words, ostinato.column_type, ostinato.relation_of, ostinato.list_transitions
to ostinato_tenant;
revoke execute on function
    ostinato.install_machine, ostinato.attach_machine, ostinato.make_guard, ostinato.note_transition, ostinato.drop_triggers, ostinato.refuse_row,
    ostinato.protect_table
from ostinato_worker;
-- Events: a tenant tells its own, and reads them.
grant execute on function
    ostinato.emit_event, ostinato.emit_events, ostinato.check_events, ostinato.is_odd_payload, ostinato.check_payload, ostinato.check_registered, ostinato.refuse_event,
    ostinato.lock_keys, ostinato.lane, ostinato.list_events, ostinato.show_event
to ostinato_tenant;
-- Schedules: a tenant keeps its own; workers fire.
grant execute on function
    ostinato.upsert_schedule, ostinato.upsert_schedules, ostinato.read_schedules, ostinato.check_schedule, ostinato.retime_schedules,
    ostinato.check_timed, ostinato.find_schedule, ostinato.pause_schedule, ostinato.resume_schedule, ostinato.delete_schedule,
    ostinato.list_schedules, ostinato.show_schedule, ostinato.list_fires, ostinato.rule_text, ostinato.next_fires, ostinato.next_slots,
    ostinato.preview_fires, ostinato.offset_text, ostinato.slot_note, ostinato.next_due, ostinato.jitter, ostinato.next_slot,
    ostinato.next_local, ostinato.next_date, ostinato.is_day, ostinato.make_rule, ostinato.parse_cron, ostinato.parse_cron_field,
    ostinato.cron_number, ostinato.check_zone, ostinato.check_policies, ostinato.local_instant, ostinato.local_instants, ostinato.utc_offset
to ostinato_tenant;
grant execute on function ostinato.enter_tenant, ostinato.enter_flow to ostinato_tenant;
grant execute on function
    ostinato.trail, ostinato.trail_jobs, ostinato.trail_of_jobs, ostinato.trail_of_runs, ostinato.trail_of_steps, ostinato.trail_of_leases,
    ostinato.trail_of_fires, ostinato.trail_of_events, ostinato.trail_of_webhooks, ostinato.trail_of_transitions, ostinato.error_summary
to ostinato_tenant;

-- The read model, and the verbs of jobs: under row-level security, or by functions own_* that check whose a job is.
grant execute on function
    ostinato.own_tenant, ostinato.sees_all, ostinato.tenant_filter, ostinato.ready_cap, ostinato.place_cap, ostinato.line_cap,
    ostinato.own_lanes, ostinato.held_jobs, ostinato.own_held_jobs, ostinato.short_json, ostinato.job_summaries, ostinato.own_found_jobs,
    ostinato.list_jobs, ostinato.page_size, ostinato.refuse_unknown, ostinato.check_job, ostinato.show_job, ostinato.job_attempts,
    ostinato.job_steps, ostinato.wait_name, ostinato.real_time, ostinato.ready_since, ostinato.waited, ostinato.ready_lines,
    ostinato.list_queues, ostinato.list_workers, ostinato.list_dead_letters, ostinato.dead_letter_groups, ostinato.job_state,
    ostinato.is_ready, ostinato.why, ostinato.say_time, ostinato.say_span, ostinato.say_count, ostinato.able_workers, ostinato.why_waiting,
    ostinato.why_ended, ostinato.why_running, ostinato.why_silent, ostinato.why_cancelling, ostinato.why_scheduled, ostinato.why_blocked,
    ostinato.why_ready, ostinato.why_suspect, ostinato.why_turn, ostinato.queue_running, ostinato.reached_limits, ostinato.own_limits,
    ostinato.why_limited, ostinato.slot_holders, ostinato.why_unique, ostinato.cancel_job, ostinato.own_cancel_job, ostinato.retry_job,
    ostinato.own_retry_job, ostinato.redrive_jobs, ostinato.own_redrive_jobs, ostinato.check_open_kind, ostinato.own_alerts,
    ostinato.own_firings
to ostinato_tenant;

-- The outbox, to be looked at.
grant select on ostinato.events_outbox to ostinato_worker, ostinato_tenant;
