-- The check of a capture. Its kind is closed to tenants, so a user's session starts it here, with the rights of the
-- owner: for a capture of its own, and while none is at work. Workers call it too.
create function vault_secure.start_check(tenant_id text, capture_event_id uuid, correlation_id text default null)
returns bigint language plpgsql security definer
set search_path = vault_secure, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_acting constant text := ostinato.acting_tenant();
begin
    if not exists (
        select from capture_events c where c.tenant_id = start_check.tenant_id and c.id = start_check.capture_event_id
          and (v_acting is null
               or (c.tenant_id, c.user_id) = (v_acting, nullif(current_setting('app.current_user_id', true), '')))
    ) then
        raise exception using errcode = 'OS404', message = format('there is no capture %s', capture_event_id),
            detail = json_build_object('capture', capture_event_id), hint = 'Check the id, and whose it is.';
    end if;
    return ostinato.enqueue_job('capture.verify', json_build_object('capture_event_id', capture_event_id),
                                queue => 'capture', tenant_id => start_check.tenant_id,
                                correlation_id => start_check.correlation_id,
                                unique_key => 'capture/' || capture_event_id, unique_policy => 'refuse');
end
$$;
