-- Jobs that a tenant's session starts. Their kinds are closed to tenants, so each function here runs with the rights of
-- the owner, and adds a job about what belongs to the tenant that the session acts as. Workers call them too.

-- Refuses another tenant than the one that the session acts as; a worker acts for all.
create function outbound.check_tenant(tenant_id text) returns void language plpgsql stable
set search_path = outbound, pg_catalog, pg_temp as $$
begin
    if coalesce(ostinato.acting_tenant(), check_tenant.tenant_id) <> check_tenant.tenant_id then
        raise exception using errcode = 'OS404', message = format('there is no tenant %L here', tenant_id),
            detail = json_build_object('tenant_id', tenant_id), hint = 'Name the tenant of the session.';
    end if;
end
$$;

-- Adds the jobs that send messages, each at its time (null: now), and notes which one it is. A sender that is
-- faster than its channel has several `lanes`, each with the channel's rate: a message is in one of them by its id.
-- Returns the queues that they are in.
create function outbound.start_sends(tenant_id text, ids uuid[], run_ats timestamptz[], lanes integer[])
returns text[] language plpgsql security definer
set search_path = outbound, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_found record;
begin
    select array_agg(w.id order by w.n) as ids, array_agg('outbound_' || lower(m.channel) order by w.n) as queues,
        array_agg(json_build_object('message_id', m.id)::text order by w.n) as args,
        array_agg(w.run_at order by w.n) as run_ats,
        array_agg(coalesce(m.correlation_id, 'outbound-' || m.id) order by w.n) as correlation_ids,
        array_agg('sender-' || m.sender_id || case when w.lanes > 1 then
            '#' || ('x' || right(m.id::text, 7))::bit(28)::integer % least(w.lanes, 1000) else '' end order by w.n)
            as keys,
        array_agg(m.subject_id order by w.n) as subjects  -- what a provider answers may name the person
    into v_found
    from unnest(start_sends.ids, start_sends.run_ats, start_sends.lanes) with ordinality as w (id, run_at, lanes, n)
    join message m on m.tenant_id = coalesce(ostinato.acting_tenant(), $1) and m.tenant_id = $1 and m.id = w.id;
    if cardinality(v_found.ids) is distinct from cardinality(start_sends.ids) then
        raise exception using errcode = 'OS404', message = format('there is no message %s', ids[1]),
            detail = json_build_object('message_id', ids[1]), hint = 'Check the id, and whose it is.';
    end if;
    update message m set job_id = j.id
    from (select v_found.ids[n] as message_id, e as id from ostinato.enqueue_jobs(
        array['outbound.send'], v_found.args, v_found.queues, run_ats => v_found.run_ats, tenant_ids => array[$1],
        correlation_ids => v_found.correlation_ids, limit_keys => v_found.keys, subjects => v_found.subjects)
        with ordinality as x (e, n)) j
    where m.tenant_id = $1 and m.id = j.message_id;
    return (select array_agg(distinct q) from unnest(v_found.queues) q);
end
$$;

-- Adds the job that sends one message.
create function outbound.start_send(tenant_id text, message_id uuid, run_at timestamptz, lanes integer default 1)
returns bigint language sql
set search_path = outbound, pg_catalog, pg_temp as $$
    select outbound.start_sends($1, array[$2], array[$3], array[$4]);
    select m.job_id from message m where m.tenant_id = $1 and m.id = $2
$$;

-- Adds the job that wakes what waits for a sender or a template of a tenant, or (`quiet`) for its hours.
create function outbound.start_wake(
    tenant_id text, sender_id bigint, template_code text, language text, again boolean, run_at timestamptz,
    correlation_id text default null, quiet boolean default false
) returns bigint language plpgsql security definer
set search_path = outbound, pg_catalog, pg_temp as $$
begin
    perform outbound.check_tenant(start_wake.tenant_id);
    return ostinato.enqueue_job(
        'outbound.wake', json_build_object('sender_id', sender_id, 'template_code', template_code, 'language', language,
                                           'again', again, 'quiet', quiet),
        queue => 'outbound_callbacks', tenant_id => start_wake.tenant_id, run_at => start_wake.run_at,
        correlation_id => start_wake.correlation_id);
end
$$;

-- Adds the job that blanks what is just being sent to a person who is erased. It has no subject: the engine's own
-- erasure would cancel it.
create function outbound.start_forget(
    tenant_id text, subject_id text, run_at timestamptz, correlation_id text default null
) returns bigint language plpgsql security definer
set search_path = outbound, pg_catalog, pg_temp as $$
begin
    perform outbound.check_tenant(start_forget.tenant_id);
    return ostinato.enqueue_job(
        'outbound.forget', json_build_object('subject_id', subject_id), queue => 'default',
        tenant_id => start_forget.tenant_id, run_at => start_forget.run_at,
        correlation_id => start_forget.correlation_id);
end
$$;

-- Adds the job that writes the timers of a tenant's contributions anew.
create function outbound.start_replan(tenant_id text, correlation_id text default null) returns bigint
language plpgsql security definer set search_path = outbound, pg_catalog, pg_temp as $$
begin
    perform outbound.check_tenant(start_replan.tenant_id);
    return ostinato.enqueue_job(
        'outbound.coop_replan', '{}', queue => 'outbound_events', tenant_id => start_replan.tenant_id,
        correlation_id => start_replan.correlation_id);
end
$$;

-- Writes the timers of a contribution: one for each step, at its local time. Their kind is closed, so schedules of it
-- are no tenant's to write.
create function outbound.start_timers(
    tenant_id text, contribution_id text, steps text[], local_times timestamp[], zone text
) returns void language plpgsql security definer
set search_path = outbound, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_due coop_contribution;
begin
    perform outbound.check_tenant(start_timers.tenant_id);
    select c.* into v_due from coop_contribution c
    where c.tenant_id = start_timers.tenant_id and c.id = start_timers.contribution_id;
    if not found then
        raise exception using errcode = 'OS404', message = format('there is no contribution %L', contribution_id),
            detail = json_build_object('contribution_id', contribution_id), hint = 'Check the id, and whose it is.';
    end if;
    perform ostinato.upsert_schedules(json_agg(json_build_object(
        'tenant_id', v_due.tenant_id, 'kind', 'outbound.coop_step',
        'name', format('coop:%s:%s:%s:v%s', v_due.id, t.step, v_due.due_date, v_due.plan_version),
        'key', 'coop-contribution:' || v_due.id, 'at', to_char(t.at, 'YYYY-MM-DD"T"HH24:MI:SS'), 'zone', zone,
        'catch_up', 'last', 'args', json_build_object(
            'contribution_id', v_due.id, 'step', t.step, 'due_date', v_due.due_date,
            'plan_version', v_due.plan_version))))
    from unnest(steps, local_times) t (step, at);
end
$$;
