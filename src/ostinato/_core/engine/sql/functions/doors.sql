-- Doors: what a tenant may start, and where.
--
-- A kind is closed to tenants unless its application declares it open (`@app.job(open=True)`): most kinds are an
-- application's own, work for all tenants at once, or trust their args. A queue is open while an open kind lives in it.
-- That holds for every session that acts as a tenant: the API's `POST /jobs`, `ostinato enqueue --tenant`, schedules
-- that a tenant makes, and plain SQL in its role. An application starts a closed kind for a tenant by a function of its
-- own that runs with the rights of the owner, checks that it is about that tenant's rows, and enqueues
-- (docs/tenants.md).
--
-- `kind.open` is null where only workers of an older release declared the kind: then it is open, as it was for them.

-- Refuses a kind that tenants may not start, or a queue that they may not use; null is the kind's own queue. `closed`
-- in the detail tells this refusal from one of the args: the API answers it with 403.
create function ostinato.check_open_kind(kind text, queue text default null) returns void
language plpgsql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    if check_open_kind.kind = 'webhooks.deliver'
       or exists (select from subscription s where s.kind = check_open_kind.kind) then
        raise exception using errcode = 'OS400',
            message = format('jobs of the kind %s are made by the engine', check_open_kind.kind),
            detail = json_build_object('kind', check_open_kind.kind, 'closed', true),
            hint = 'Emit the event, or send the webhook, that such a job is for.';
    end if;
    if not exists (select from kind k where k.name = check_open_kind.kind and k.open is not false) then
        raise exception using errcode = 'OS400',
            message = case when exists (select from kind k where k.name = check_open_kind.kind)
                then format('the kind %s is closed to tenants', check_open_kind.kind)
                else format('no worker has declared a kind %s', check_open_kind.kind) end,
            detail = json_build_object('kind', check_open_kind.kind, 'open', ostinato_internal.open_kinds(),
                                       'closed', true),
            hint = format('Open kinds: %s. An application opens one with @app.job(open=True), and its workers declare '
                          'it when they start.', ostinato_internal.say_some(ostinato_internal.open_kinds()));
    end if;
    perform ostinato_internal.check_open_queue(check_open_kind.queue) where check_open_kind.queue is not null;
end
$$;

-- Refuses a queue in which no open kind lives: the engine's own, and those that applications keep for themselves.
create function ostinato_internal.check_open_queue(queue text) returns void language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_open constant text[] := array(
        select distinct k.queue from kind k where k.open is not false and not exists (
            select from subscription s where s.kind = k.name) order by 1);
begin
    if not check_open_queue.queue = any (v_open) then
        raise exception using errcode = 'OS400',
            message = format('queue %L is closed to tenants', check_open_queue.queue),
            detail = json_build_object('queue', check_open_queue.queue, 'open', v_open, 'closed', true),
            hint = format('Leave the queue out to use the kind''s own. Open queues: %s.',
                          ostinato_internal.say_some(v_open));
    end if;
end
$$;

-- Returns the kinds that tenants may start.
create function ostinato_internal.open_kinds() returns text[] language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select array(select k.name from kind k where k.open is not false and not exists (
        select from subscription s where s.kind = k.name) order by 1)
$$;

-- Returns some names in a sentence: the first ten.
create function ostinato_internal.say_some(names text[]) returns text language sql immutable as $$
    select case when cardinality($1) = 0 then 'none'
        else array_to_string($1[:10], ', ') || case when cardinality($1) > 10 then ', …' else '' end end
$$;

-- Lets the rest of this transaction write nothing, whatever is called in it: for those who only look.
create function ostinato.only_read() returns void language plpgsql as $$
begin
    set transaction read only;
end
$$;

-- Returns the tenant that the session acts as, also within a function that runs with the rights of its owner; null for
-- a role that sees all tenants. Such a function asks it before it does for a tenant what the tenant's role may not.
create function ostinato.acting_tenant() returns text language sql stable as $$
    select case when not pg_catalog.has_table_privilege(
        coalesce(nullif(pg_catalog.current_setting('role', true), 'none'), session_user::text),
        'ostinato_data.claim', 'select') then ostinato_internal.own_tenant() end
$$;

-- Refuses rows that a tenant adds for another tenant, and those of a session without a tenant, as policies would.
create function ostinato_internal.check_own_rows(tenant_ids text[]) returns void language plpgsql stable as $$
declare
    v_own   constant text := ostinato_internal.own_tenant();
    v_other constant text := (select min(t) from unnest(tenant_ids) t where t <> v_own);
begin
    if v_own = '' or v_other is not null then
        raise exception using errcode = '42501',
            message = case when v_own = '' then 'the transaction is no tenant''s'
                else format('tenant %L adds nothing for tenant %L', v_own, v_other) end,
            hint = 'Enter the tenant first: select ostinato.enter_tenant(…).';
    end if;
end
$$;

-- Refuses what a tenant adds for another tenant, of a closed kind, into a closed queue, or under a limit key of the
-- installation.
create function ostinato_internal.check_own_jobs(tenant_ids text[], kinds text[], queues text[], limit_scopes text[])
returns void language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform ostinato_internal.check_own_rows(tenant_ids);
    perform ostinato.check_open_kind(k) from (select distinct k from unnest(kinds) k) k (k);
    perform ostinato_internal.check_open_queue(q)
    from (select distinct q from unnest(queues) q where q is not null) q (q);
    if 'installation' = any (limit_scopes) then
        raise exception using errcode = 'OS400',
            message = 'a tenant cannot use a limit key of the installation',
            detail = json_build_object('limit_scope', 'installation'),
            hint = 'Leave limit_scope out: then the key is the tenant''s own.';
    end if;
end
$$;

-- Adds a job for the tenant, who may write none of the tables that this takes.
create function ostinato_internal.own_enqueue_job(
    kind text, args json, queue text, priority integer, run_at timestamptz, tenant_id text, correlation_id text,
    limit_key text, unique_key text, unique_policy text, unique_states text[], max_attempts integer, limit_scope text,
    subject text, traceparent text
) returns bigint language plpgsql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform ostinato_internal.check_own_jobs(array[tenant_id], array[kind], array[queue], array[limit_scope]);
    return ostinato.enqueue_job(kind, args, queue, priority, run_at, tenant_id, correlation_id, limit_key, unique_key,
                                unique_policy, unique_states, max_attempts, limit_scope, subject, traceparent);
end
$$;

-- Adds many jobs for the tenant.
create function ostinato_internal.own_enqueue_jobs(
    kinds text[], args text[], queues text[], priorities integer[], run_ats timestamptz[], tenant_ids text[],
    correlation_ids text[], limit_keys text[], unique_keys text[], max_attempts integer[], limit_scopes text[],
    subjects text[], traceparent text
) returns setof bigint language plpgsql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform ostinato_internal.check_own_jobs(tenant_ids, kinds, queues, limit_scopes);
    return query select j from ostinato.enqueue_jobs(
        kinds, args, queues, priorities, run_ats, tenant_ids, correlation_ids, limit_keys, unique_keys, max_attempts,
        limit_scopes, subjects, traceparent => own_enqueue_jobs.traceparent) j;
end
$$;
