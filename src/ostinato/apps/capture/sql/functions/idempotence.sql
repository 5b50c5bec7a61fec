-- Whether a capture came before. The lock is the engine's for the key user/capture_id of the scope "capture": it makes
-- two requests for one capture take turns. What keeps them from ever making two rows is the unique constraint of
-- capture_events.
--
-- Lock order: the capture (here), then whatever the intake writes, then the chain of the audit log (append_audit),
-- which is last.

-- Waits for its turn with the capture of a user, until the end of the caller's transaction, then looks for it: one row,
-- with an id if it is there, and in any case whose transaction this is and what time it is. A function of several
-- statements, because in READ COMMITTED each of them sees what was committed before it began: the look comes after the
-- wait. A role that row-level security shows the rows of one user only is refused for another one, and for another
-- tenant: it would always find nothing.
create function vault_secure.find_capture(user_id text, capture_id text, for_tenant text default null)
returns table (tenant_id text, now timestamptz, id uuid, state text, payload_canonical_sha256 text) language plpgsql
set search_path = vault_secure, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_tenant constant text := ostinato.tenant(for_tenant);
begin
    if current_user = 'ostinato_tenant'
       and (nullif(current_setting('app.tenant_id', true), ''),
            nullif(current_setting('app.current_user_id', true), ''))
           is distinct from (v_tenant, find_capture.user_id) then
        raise exception using errcode = 'OS400',
            message = 'the transaction is not that of the user whose capture is looked for',
            hint = 'Enter the tenant and the user first: client.for_tenant(tenant, user).transaction().';
    end if;
    perform pg_advisory_xact_lock(ostinato.key_lock(v_tenant, 'capture',
                                                    find_capture.user_id || '/' || find_capture.capture_id));
    return query
        select v_tenant, ostinato.now(), c.id, c.state, c.payload_canonical_sha256
        from (values (true)) always
        left join capture_events c
            on c.tenant_id = v_tenant and c.user_id = find_capture.user_id and c.capture_id = find_capture.capture_id;
end
$$;
