-- Who may call what, by one rule per schema and role: workers and tenants call the verbs (ostinato), and the verbs call
-- the helpers (ostinato_internal) with the rights of their caller. The API is a member of ostinato_tenant and calls
-- what a tenant calls, with no tenant's rows until it has entered one. So a function gives nobody a right that it has
-- not: the privileges of the tables and row-level security decide.
revoke all on schema ostinato, ostinato_internal from public;
revoke execute on all functions in schema ostinato, ostinato_internal
from public, ostinato_worker, ostinato_tenant, ostinato_api;
grant usage on schema ostinato, ostinato_internal to ostinato_worker, ostinato_tenant;
grant execute on all functions in schema ostinato, ostinato_internal to ostinato_worker, ostinato_tenant;

-- A function that runs with the rights of the owner is closed, until it is named here with the reason.
do $$
declare
    v_function text;
begin
    for v_function in
        select p.oid::pg_catalog.regprocedure::text from pg_catalog.pg_proc p
        where p.prosecdef and p.pronamespace::pg_catalog.regnamespace::text in ('ostinato', 'ostinato_internal')
    loop
        execute pg_catalog.format('revoke execute on function %s from ostinato_worker, ostinato_tenant, ostinato_api',
                                  v_function);
    end loop;
end
$$;
-- They give a tenant its part of what policies cannot divide, or change a job of its own for it: each asks own_tenant()
-- whose a row is. Workers call the same verbs, and see everything already.
grant execute on function
    ostinato.own_alerts, ostinato.own_firings, ostinato_internal.own_lanes, ostinato_internal.own_held_jobs,
    ostinato_internal.own_found_jobs, ostinato_internal.own_limits, ostinato_internal.own_cancel_job,
    ostinato_internal.own_retry_job, ostinato_internal.own_redrive_jobs, ostinato_internal.own_enqueue_job,
    ostinato_internal.own_enqueue_jobs, ostinato_internal.own_emit_events, ostinato_internal.own_erase_subject,
    ostinato_internal.own_found_audit, ostinato_internal.own_found_actions, ostinato_internal.own_searched_jobs,
    ostinato_internal.own_preview_bulk, ostinato_internal.own_start_bulk, ostinato_internal.own_stop_bulk,
    ostinato_internal.own_move_job, ostinato_internal.own_restart_job, ostinato_internal.own_fire_slots,
    ostinato.own_signal_job
to ostinato_worker, ostinato_tenant;
-- They act on alerts, which no tenant reads: on those of acting_tenant() only.
grant execute on function
    ostinato.acknowledge_alert, ostinato.silence_alert, ostinato.unsilence_alert, ostinato.list_silences
to ostinato_worker, ostinato_tenant;
-- They open and close links to the endpoints of acting_tenant() only, for a role that may do nothing else.
grant execute on function ostinato.open_portal, ostinato.close_portals to ostinato_worker, ostinato_tenant;
-- It says whether a tenant may start a kind or use a queue, and no more: no row of a tenant is in it.
grant execute on function ostinato.check_open_kind to ostinato_worker, ostinato_tenant;
-- A tenant adds jobs by the functions above, which ask whether their kind and queue are open to it, and by no other
-- way.
revoke insert on ostinato_data.job, ostinato_data.job_unique, ostinato_data.ready, ostinato_data.scheduled
from ostinato_tenant;
-- Ids are drawn by the engine, and no tenant chooses one: it could take those that others are about to draw, or name a
-- row of another. So events are added by a function of the owner too, and a schedule is written without its id.
revoke insert on ostinato_data.event, ostinato_data.event_unsequenced from ostinato_tenant;
revoke insert, update on ostinato_data.schedule from ostinato_tenant;
grant insert (created_at, timed_at, starts_at, ends_at, catch_up_seconds, grace_seconds, jitter_seconds, catch_up_most,
              priority, paused, catch_up, tenant_id, name, key, owner, kind, queue, args, cron, recurrence, error),
    update (timed_at, starts_at, ends_at, catch_up_seconds, grace_seconds, jitter_seconds, catch_up_most, priority,
            paused, catch_up, name, key, owner, kind, queue, args, cron, recurrence, error)
on ostinato_data.schedule to ostinato_tenant;
-- It writes entries of the audit, a tenant's always as its own; nobody else may write them, or choose their ids.
grant execute on function ostinato_internal.record to ostinato_worker, ostinato_tenant;
-- It writes an entry for a batch of a bulk action, by the actor who started that, and for no other.
grant execute on function ostinato_internal.record_bulk to ostinato_worker;
-- It reads the installation's secret, and gives away a hash that only the same tenant and subject have. A tenant's
-- subjects are hashed by the functions above.
grant execute on function ostinato_internal.subject_hash to ostinato_worker;
-- A pass alone changes nothing: the guard of the table asks the machine, and the update is the caller's.
grant execute on function ostinato.open_pass, ostinato.close_pass to ostinato_worker, ostinato_tenant;
-- They make and drop partitions, which only an owner may; every worker does it for all.
grant execute on function ostinato.upkeep_partitions, ostinato.upkeep_logs to ostinato_worker;
-- What the API does for no tenant: it compares keys that it was sent, notes their use, wakes workers, and watches. None
-- of them returns a row or a name of a tenant, but the key to a caller that has its text.
grant execute on function
    ostinato.match_api_keys, ostinato.note_api_key_use, ostinato.ring_doorbell, ostinato.observe_declared
to ostinato_worker, ostinato_api;
grant execute on function ostinato.watch_due_alerts, ostinato.watch_alerts, ostinato.watch_failed_alerts
to ostinato_api;

-- They say as whom they act, so they are not for a session that acts as a tenant already.
revoke execute on function ostinato.enqueue_job_as, ostinato.show_job_as from ostinato_tenant;
grant execute on function ostinato.enqueue_job_as, ostinato.show_job_as to ostinato_api;

-- What only a migration calls, as the owner.
revoke execute on function
    ostinato.install_machine, ostinato.attach_machine, ostinato.protect_table, ostinato_internal.note_transition,
    ostinato_internal.drop_triggers, ostinato_internal.refuse_row
from ostinato_worker, ostinato_tenant;
-- What only the maker of a database for tests calls, as a superuser.
revoke execute on function ostinato.use_test_clock from ostinato_worker, ostinato_tenant;

-- The outbox, to be looked at.
grant select on ostinato.events_outbox to ostinato_worker, ostinato_tenant;
