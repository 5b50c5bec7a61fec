-- What the API does for nobody in particular, before it knows a tenant: providers call back, and recipients click on a
-- link. Each runs as the owner for the role of the API, which sees no tenant's rows, and returns nothing but an id.

-- Stores the bytes of a callback whose signature was checked, and adds the job that reads them. Returns the job.
create function outbound.add_callback(provider text, url text, content_type text, body bytea) returns bigint
language plpgsql security definer set search_path = outbound, pg_catalog, pg_temp as $$
declare
    v_id bigint;
begin
    insert into callback (provider, url, content_type, body) values ($1, $2, $3, $4) returning id into v_id;
    return ostinato.enqueue_job('outbound.take_callback', json_build_object('callback_id', v_id),
                                queue => 'outbound_callbacks', tenant_id => 'default');
end
$$;

-- Counts a callback that was refused.
create function outbound.refuse_callback(provider text, reason text) returns void language sql security definer
set search_path = outbound, pg_catalog, pg_temp as $$
    insert into refused_callback as r (provider, reason, minute) values ($1, $2, date_trunc('minute', ostinato.now()))
    on conflict (provider, reason, minute) do update set times = r.times + 1
$$;

-- Whose consent this is; null when there is none. Ids are random, and a link that has one is signed.
create function outbound.tenant_of_consent(id uuid) returns text language sql stable security definer
set search_path = outbound, pg_catalog, pg_temp as $$
    select c.tenant_id from consent c where c.id = $1
$$;
