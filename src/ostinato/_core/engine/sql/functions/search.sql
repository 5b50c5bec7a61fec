-- Search: jobs that match a filter of many fields, for lists and for bulk actions (bulk.sql).
--
-- A search reads one place (a state), or all jobs, by id, and leaves out what does not match. The fields that an index
-- knows choose the candidates (find_jobs, inspect.sql); arguments have no index, so candidates are read in windows, and
-- a search gives up after `search_cap` of them, or once it has read `search_bytes` of arguments, which takes about a
-- second: `next` says from where to go on, also when nothing was found so far.
-- Ids grow with time, a day at a time, so a time is a range of ids too.

-- Limits the jobs that a search looks at.
create function ostinato_internal.search_cap() returns integer language sql immutable parallel safe as 'select 10000';

-- Limits the bytes of arguments that a search reads; those of one window more are read as well.
create function ostinato_internal.search_bytes() returns bigint language sql immutable parallel safe as
'select 33554432::bigint';

-- Returns the filter that a JSON object describes; refuses what no field can hold.
create function ostinato_internal.job_filter_of(filter json) returns ostinato_data.job_filter
language plpgsql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_found   ostinato_data.job_filter;
    v_unknown constant text := (
        select min(k) from json_object_keys(coalesce(filter, '{}')) k
        where k not in ('queue', 'kind', 'tenant_id', 'correlation_id', 'signature', 'since', 'until', 'args', 'text'));
begin
    if v_unknown is not null then
        raise exception using errcode = 'OS400', message = format('a filter of jobs has no field %L', v_unknown),
            detail = json_build_object('field', v_unknown),
            hint = 'Fields: queue, kind, tenant_id, correlation_id, signature, since, until, args, text.';
    end if;
    v_found := json_populate_record(null::ostinato_data.job_filter, coalesce(filter, '{}'));
    if jsonb_typeof(v_found.args) <> 'object' then
        raise exception using errcode = 'OS400',
            message = format('args of a filter must be a JSON object, got %s', jsonb_typeof(v_found.args)),
            detail = json_build_object('got', jsonb_typeof(v_found.args)),
            hint = 'Write what the arguments have to contain, such as {"invoice_id": 7}.';
    end if;
    perform ostinato_internal.check_wanted_args(v_found.args);
    return v_found;
exception when data_exception then
    raise exception using errcode = 'OS400', message = format('the filter of jobs cannot be read: %s', sqlerrm),
        detail = json_build_object('field', null), hint = 'Times have a zone, such as 2026-03-02T08:30:00Z.';
end
$$;

-- Refuses wanted arguments that would take long to look for. Each element of a list is compared with each of the job's,
-- in one piece that nothing interrupts: 500,000 of them with 100,000 would take minutes.
create function ostinato_internal.check_wanted_args(wanted jsonb) returns void language plpgsql immutable as $$
declare
    v_long constant integer := length(wanted::text);
    v_bad  text := case when v_long > 4000 then format('they have %s characters', v_long) end;
begin
    if v_bad is null and wanted is not null then
        select format('their lists have %s elements', count(*)) into v_bad
        from jsonb_path_query(wanted, 'strict $.** ? (@.type() == "array")[*]') having count(*) > 20;
    end if;
    if v_bad is not null then
        raise exception using errcode = 'OS400', message = format('args of a filter are too long: %s', v_bad),
            detail = json_build_object('field', 'args'),
            hint = 'Give at most 4,000 characters, and 20 elements of lists; ask again for the others.';
    end if;
end
$$;

-- Returns whether the arguments of a job contain others; arguments that jsonb cannot hold contain nothing.
create function ostinato_internal.has_args(args json, wanted jsonb) returns boolean language plpgsql immutable as $$
begin
    return args::jsonb @> wanted;
exception when data_exception or statement_too_complex then
    return false;
end
$$;

-- Returns the next ids that a search has to look at, newest first; with `oldest` (dead letters only) oldest first.
create function ostinato_internal.search_window(
    in_state text, f ostinato_data.job_filter, edge bigint, most integer, oldest boolean
) returns setof bigint language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
    if oldest then
        return query select d.job_id from dead_letter d
        where d.job_id > edge and (f.queue is null or d.queue = f.queue) and (f.kind is null or d.kind = f.kind)
          and (f.tenant_id is null or d.tenant_id = f.tenant_id)
          and (f.signature is null or d.signature = f.signature)
        order by d.job_id limit most;
    elsif f.signature is not null then
        return query select d.job_id from dead_letter d
        where d.job_id < edge and d.signature = f.signature and (f.queue is null or d.queue = f.queue)
          and (f.kind is null or d.kind = f.kind) and (f.tenant_id is null or d.tenant_id = f.tenant_id)
        order by d.job_id desc limit most;
    elsif in_state is null or f.correlation_id is not null then
        return query select j.id from job j
        where j.id < edge and (f.correlation_id is null or j.correlation_id = f.correlation_id)
          and (f.queue is null or j.queue = f.queue) and (f.kind is null or j.kind = f.kind)
          and (f.tenant_id is null or j.tenant_id = f.tenant_id)
          and (in_state is null or ostinato.job_state(j.id) = in_state)
        order by j.id desc limit most;
    else
        return query select ostinato_internal.find_jobs(in_state, f.queue, f.kind, f.tenant_id, edge, most);
    end if;
end
$$;

-- Returns up to `most` ids of jobs that match, and the edge to go on from (null: there are no more). `below` is the
-- first id that is not meant any more.
create function ostinato_internal.search_jobs(
    in_state text, f ostinato_data.job_filter, edge bigint, most integer, oldest boolean default false,
    below bigint default null, out ids bigint[], out next bigint
) language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_plain  constant boolean := f.args is null and f.text is null and f.since is null and f.until is null
                                 and (f.correlation_id is null or not oldest);
    v_reads  constant boolean := f.args is not null or f.text is not null;
    v_size   constant integer := case when v_plain then most when v_reads then 100 else greatest(most, 1000) end;
    v_first  constant bigint := ostinato_internal.first_id(f.since);  -- 0 without a time
    v_last   constant bigint := least(
        case when f.until is not null then ostinato_internal.first_id(f.until) + ostinato_internal.ids_of_a_day() end,
        below, ostinato_internal.last_id());
    v_looked integer := 0;
    v_read   bigint := 0;
    v_window bigint[];
begin
    ids := '{}';
    next := case when oldest then greatest(edge, v_first - 1) else least(edge, v_last) end;
    loop
        v_window := array(select ostinato_internal.search_window(in_state, f, next, v_size, oldest));
        ids := ids || array(
            select j.id from unnest(v_window) with ordinality w (id, n) join job j on j.id = w.id
            where w.id >= v_first and w.id < v_last and (f.since is null or j.created_at >= f.since)
              and (f.until is null or j.created_at < f.until)
              and (f.correlation_id is null or j.correlation_id = f.correlation_id)
              and (f.args is null or ostinato_internal.has_args(j.args, f.args))
              and (f.text is null or strpos(lower(j.args::text), lower(f.text)) > 0)
            order by w.n);
        v_looked := v_looked + cardinality(v_window);
        if v_reads then
            v_read := v_read + coalesce((
                select sum(octet_length(j.args::text)) from unnest(v_window) w (id) join job j on j.id = w.id), 0);
        end if;
        next := case when cardinality(v_window) = v_size then v_window[v_size] end;
        if cardinality(ids) > most or (cardinality(ids) = most and next is not null) then
            ids := ids[:most];
            next := ids[most];
        end if;
        exit when next is null or cardinality(ids) >= most or v_looked >= ostinato_internal.search_cap()
                  or v_read >= ostinato_internal.search_bytes();
        if (case when oldest then next >= v_last - 1 else next <= v_first end) then
            next := null;
            return;
        end if;
    end loop;
end
$$;

-- Finds jobs of the tenant. Under its policies most of the indexes could not lead.
create function ostinato_internal.own_searched_jobs(
    in_state text, f ostinato_data.job_filter, edge bigint, most integer, out ids bigint[], out next bigint
) language plpgsql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    if coalesce(f.tenant_id, ostinato_internal.own_tenant()) <> ostinato_internal.own_tenant() then
        ids := '{}';
        return;
    end if;
    f.tenant_id := ostinato_internal.own_tenant();
    select s.ids, s.next into ids, next from ostinato_internal.search_jobs(in_state, f, edge, most) s;
end
$$;

-- Returns the ids of a page of jobs that match a filter (a JSON object of job_filter's fields), newest first, and
-- `next`: the `before` of the next page, null when there is none. A page may be short, or empty, and have a next one.
create function ostinato.search_jobs(
    state text default null, filter anycompatible default null::json, before bigint default null,
    most integer default 50, out ids bigint[], out next bigint
) language plpgsql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_filter ostinato_data.job_filter := ostinato_internal.job_filter_of(filter::json);
    v_edge   constant bigint := coalesce(before, ostinato_internal.last_id());
    v_most   constant integer := ostinato_internal.page_size(most);
    v_state  constant text := coalesce(state, case when v_filter.signature is not null then 'dead' end);
begin
    if v_state not in ('ready', 'scheduled', 'running', 'dead', 'done', 'cancelled') then
        raise exception using errcode = 'OS400', message = format('there is no state %L', v_state),
            detail = json_build_object('state', v_state),
            hint = 'States: scheduled, ready, running, dead, done, cancelled.';
    end if;
    if v_filter.signature is not null and v_state <> 'dead' then
        raise exception using errcode = 'OS400', message = format('jobs that are %s have no signature', v_state),
            detail = json_build_object('state', v_state, 'signature', v_filter.signature),
            hint = 'A signature is that of dead letters: leave the state out, or choose dead.';
    end if;
    if ostinato_internal.sees_all() then
        select s.ids, s.next into ids, next from ostinato_internal.search_jobs(v_state, v_filter, v_edge, v_most) s;
    else
        select s.ids, s.next into ids, next
        from ostinato_internal.own_searched_jobs(v_state, v_filter, v_edge, v_most) s;
    end if;
end
$$;
