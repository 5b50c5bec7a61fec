-- Announcements that an object has come, and what is not as it was sealed.

-- Notes that objects were uploaded, and returns the captures that wait for them: one of the user of the transaction, or
-- all of the tenant whose objects have one of some keys. A capture is announced twenty times at the most: each time its
-- check looks for the object, and what is announced again and again is not there. With the rights of the owner, because
-- a user's session changes no capture, and the store speaks for all users of the tenant.
create function vault_secure.announce_uploads(tenant_id text, capture_id text, object_keys text[])
returns table (id uuid, found_id text) language plpgsql security definer
set search_path = vault_secure, pg_catalog, pg_temp set row_security = on as $$
#variable_conflict use_column
declare
    v_acting constant text := ostinato.acting_tenant();
    v_user   constant text := nullif(current_setting('app.current_user_id', true), '');
begin
    if v_acting is distinct from announce_uploads.tenant_id then
        raise exception using errcode = 'OS400',
            message = 'an upload can only be announced to the tenant of the transaction',
            hint = 'Enter the tenant first: client.for_tenant(tenant, user).transaction().';
    end if;
    return query
    update capture_events c set announced = c.announced + 1
    where c.tenant_id = announce_uploads.tenant_id and c.state in ('RECEIVED', 'UPLOADING') and c.announced < 20
      and case when announce_uploads.capture_id is not null
               then c.user_id = v_user and c.capture_id = announce_uploads.capture_id
               else c.upload_object_key = any (announce_uploads.object_keys) end
    returning c.id, c.capture_id;
end
$$;

-- Counts the captures of each tenant whose object is not what was sealed: the source of an alert.
create function vault_secure.changed_captures() returns table (label text, value double precision) language sql stable
set search_path = vault_secure, pg_catalog, pg_temp as $$
    select c.tenant_id, count(*)::double precision from capture_events c where c.changed_at is not null group by 1
$$;
