-- Portals: a link by which a customer looks after the endpoints of one tenant, without a key and without the console.
--
--   open_portal(hash, seconds, tenant_id)    writes a link down, by the hash of its text
--   close_portals(tenant_id)                 ends the links of a tenant, and what was opened by them
--
-- A link is a ticket of sessions.sql whose session has the one role `portal`: it works once within its time, ends
-- as sessions do, and is known by the SHA-256 of its text alone. They run as the owner, because a tenant reads no
-- sessions; a tenant opens and closes links to its own endpoints only.

-- Returns the tenant that a portal is for: of a tenant, always its own.
create function ostinato_internal.portal_tenant(tenant_id text) returns text language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_tenant constant text := coalesce(ostinato.acting_tenant(), tenant_id, 'default');
begin
    perform ostinato_internal.check_name('tenant_id', v_tenant);
    return v_tenant;
end
$$;

-- Writes a link down that works once within so many seconds; returns when it ends.
create function ostinato.open_portal(hash bytea, seconds double precision default 3600, tenant_id text default null)
returns timestamptz language plpgsql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
    v_tenant constant text := ostinato_internal.portal_tenant(tenant_id);
    v_until  timestamptz;
begin
    if not coalesce(seconds between 60 and 86400, false) then
        raise exception using errcode = 'OS400', message = format('a link cannot work for %s seconds', seconds),
            detail = json_build_object('seconds', seconds, 'tenant_id', v_tenant), hint = 'Choose a minute to a day.';
    end if;
    select s.expires_at into v_until
    from ostinato.open_session(
        hash, v_tenant, left('portal: ' || ostinato_internal.actor(), ostinato_internal.longest_name()),
        array['portal'], ticket_seconds => seconds) s;
    perform ostinato_internal.record('create', 'portal', null, v_tenant,
                                     detail => json_build_object('until', v_until));
    return v_until;
end
$$;

-- Ends the links of a tenant, used or not, and their sessions. Returns how many.
create function ostinato.close_portals(tenant_id text default null) returns integer language plpgsql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_tenant constant text := ostinato_internal.portal_tenant(close_portals.tenant_id);
    v_count  integer;
begin
    delete from session s where s.tenant_id = v_tenant and s.roles = array['portal'];
    get diagnostics v_count = row_count;
    perform ostinato_internal.record('revoke', 'portal', null, v_tenant, count => v_count);
    return v_count;
end
$$;
