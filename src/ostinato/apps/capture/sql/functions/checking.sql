-- Starts the check of a capture. Its kind is closed to tenants, so a user's session starts it here, with the rights of
-- the owner: for a capture of its own, and while none is at work. Workers call it too.
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

-- Looks after some captures at once: a check that is alive is left alone, one that came to its end is started anew, at
-- most `most` times. Returns those that have no live check, and whether it was started. Most of those that are looked
-- at wait for their object, so they cost a statement for a page and not some for each.
create function vault_secure.restart_checks(tenant_ids text[], capture_event_ids uuid[], most integer)
returns table (tenant_id text, id uuid, started boolean) language plpgsql
set search_path = vault_secure, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_one     record;
    v_started boolean;
begin
    for v_one in
        select c.tenant_id, c.id, c.reconciliation_attempts as attempts
        from unnest(tenant_ids, capture_event_ids) n (tenant_id, id)
        join capture_events c on c.tenant_id = n.tenant_id and c.id = n.id
        where c.state in ('RECEIVED', 'UPLOADING', 'UPLOADED', 'VERIFYING')
        order by c.tenant_id, c.id for no key update of c
    loop
        begin
            perform vault_secure.start_check(v_one.tenant_id, v_one.id);
            if v_one.attempts >= most then
                raise exception using errcode = 'OS000';  -- takes the job back
            end if;
            v_started := true;
        exception
            when sqlstate 'OS411' then
                v_started := null;
            when sqlstate 'OS000' then
                v_started := false;
        end;
        update capture_events c
        set reconciliation_attempts = c.reconciliation_attempts + coalesce(v_started, false)::integer,
            last_reconciled_at = ostinato.now()
        where c.tenant_id = v_one.tenant_id and c.id = v_one.id;
        if v_started is not null then
            tenant_id := v_one.tenant_id; id := v_one.id; started := v_started;
            return next;
        end if;
    end loop;
end
$$;
