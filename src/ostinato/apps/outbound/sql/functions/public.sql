-- What the API does for nobody in particular, before it knows a tenant: providers call back, and recipients click on a
-- link. Each runs as the owner for the role of the API, which sees no tenant's rows, and returns no more than it needs.

-- Stores the bytes of a callback whose signature was checked, and adds the job that reads them. `tenant_id` is whose
-- account signed it; null: the installation's. Returns the callback.
create function outbound.add_callback(provider text, url text, content_type text, body bytea, tenant_id text,
                                      queue text default 'outbound_callbacks', correlation_id text default null)
returns table (id bigint, received_at timestamptz)
language plpgsql security definer set search_path = outbound, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    insert into callback as c (provider, url, content_type, body, tenant_id) values ($1, $2, $3, $4, $5)
    returning c.id, c.received_at into id, received_at;
    -- Whose account signed it waits for its own turns: tenants take turns in a queue.
    perform ostinato.enqueue_job('outbound.take_callback', json_build_object('callback_id', add_callback.id),
                                 queue => $6, tenant_id => coalesce($5, 'default'), correlation_id => $7);
    return next;
end
$$;

-- Ends a callback that was worked through: its bytes, which name people, go. Who comes second changes nothing.
create function outbound.end_callback(id bigint, lines integer, ignored integer) returns void language sql
security definer set search_path = outbound, pg_catalog, pg_temp as $$
    update callback c set processed_at = ostinato.now(), lines = $2, ignored = $3, body = ''
    where c.id = $1 and c.processed_at is null
$$;

-- Returns the tenants that a provider speaks of, by the keys of senders, each his who `hears` it, and by the ids of
-- consents, which are random. With `only_tenant`, whose account signed it, no other. What is nobody's has no row.
create function outbound.tenants_told_of(provider text, keys text[], consents uuid[], only_tenant text)
returns table (key text, consent_id uuid, tenant_id text)
language sql stable security definer set search_path = outbound, pg_catalog, pg_temp as $$
    select s.provider_key, null::uuid, s.tenant_id from sender s
    where s.provider = $1 and s.provider_key = any ($2) and outbound.hears(s) and ($4 is null or s.tenant_id = $4)
    union all
    select null, c.id, c.tenant_id from consent c where c.id = any ($3) and ($4 is null or c.tenant_id = $4)
$$;

-- Returns the account under whose name a provider calls back, sealed as it is stored: the vault of the API opens it to
-- check a signature. Names of callbacks are random.
create function outbound.account_of_hook(provider text, hook uuid)
returns table (tenant_id text, provider_key text, credentials text)
language sql stable security definer set search_path = outbound, pg_catalog, pg_temp as $$
    select s.tenant_id, s.provider_key, s.credentials from sender s
    where s.provider = $1 and s.hook = $2 and s.credentials is not null
$$;

-- Counts a callback that was refused.
create function outbound.refuse_callback(provider text, reason text) returns void language sql security definer
set search_path = outbound, pg_catalog, pg_temp as $$
    insert into refused_callback as r (provider, reason, minute) values ($1, $2, date_trunc('minute', ostinato.now()))
    on conflict (provider, reason, minute) do update set times = r.times + 1
$$;

-- Returns whose consent this is; null when there is none. Ids are random, and a link that has one is signed.
create function outbound.tenant_of_consent(id uuid) returns text language sql stable security definer
set search_path = outbound, pg_catalog, pg_temp as $$
    select c.tenant_id from consent c where c.id = $1
$$;
