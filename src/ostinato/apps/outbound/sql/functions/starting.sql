-- Jobs that a tenant's session starts. Their kinds are closed to tenants, so each function here runs with the rights of
-- the owner, and adds a job about what belongs to the tenant that the session acts as. Workers call them too.

-- Adds the job that sends a message, and notes which one it is.
create function outbound.start_send(tenant_id text, message_id uuid, run_at timestamptz) returns bigint
language plpgsql security definer
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
        limit_key => 'sender-' || v_message.sender_id,
        subject => v_message.subject_id);  -- what a provider answers may name the person
    update message m set job_id = v_job where m.tenant_id = v_message.tenant_id and m.id = v_message.id;
    return v_job;
end
$$;

-- Adds the job that wakes what waits for a sender or a template of a tenant.
create function outbound.start_wake(
    tenant_id text, sender_id bigint, template_code text, language text, again boolean, run_at timestamptz,
    correlation_id text default null
) returns bigint language plpgsql security definer
set search_path = outbound, pg_catalog, pg_temp as $$
begin
    if coalesce(ostinato.acting_tenant(), start_wake.tenant_id) <> start_wake.tenant_id then
        raise exception using errcode = 'OS404', message = format('there is no tenant %L here', tenant_id),
            detail = json_build_object('tenant_id', tenant_id), hint = 'Name the tenant of the session.';
    end if;
    return ostinato.enqueue_job(
        'outbound.wake', json_build_object('sender_id', sender_id, 'template_code', template_code, 'language', language,
                                           'again', again),
        queue => 'outbound_callbacks', tenant_id => start_wake.tenant_id, run_at => start_wake.run_at,
        correlation_id => start_wake.correlation_id);
end
$$;
