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

-- Adds the job that sends a message, and notes which one it is. A sender that is faster than its channel has several
-- `lanes`, each with the channel's rate: a message is in one of them by its id.
create function outbound.start_send(tenant_id text, message_id uuid, run_at timestamptz, lanes integer default 1)
returns bigint language plpgsql security definer
set search_path = outbound, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_message message;
    v_job     bigint;
begin
    select m.* into v_message from message m
    where m.tenant_id = coalesce(ostinato.acting_tenant(), start_send.tenant_id) and m.tenant_id = start_send.tenant_id
      and m.id = start_send.message_id;
    if not found then
        raise exception using errcode = 'OS404', message = format('there is no message %s', message_id),
            detail = json_build_object('message_id', message_id), hint = 'Check the id, and whose it is.';
    end if;
    v_job := ostinato.enqueue_job(
        'outbound.send', json_build_object('message_id', v_message.id),
        queue => 'outbound_' || lower(v_message.channel), run_at => start_send.run_at, tenant_id => v_message.tenant_id,
        correlation_id => coalesce(v_message.correlation_id, 'outbound-' || v_message.id),
        limit_key => 'sender-' || v_message.sender_id || case when lanes > 1 then
            '#' || ('x' || right(v_message.id::text, 7))::bit(28)::integer % least(lanes, 1000) else '' end,
        subject => v_message.subject_id);  -- what a provider answers may name the person
    update message m set job_id = v_job where m.tenant_id = v_message.tenant_id and m.id = v_message.id;
    return v_job;
end
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
