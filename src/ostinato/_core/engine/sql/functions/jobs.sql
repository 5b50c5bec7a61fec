-- Jobs: enqueue, cancel, retry, hasten, redrive. What a caller asks for; what workers do is in claims.sql.
--
-- Every verb works inside the caller's transaction and takes effect with its commit.
-- Lock order, here and in claims.sql and workers.sql: queue, job_unique, claim (ascending id), then single-job rows
-- (ready, scheduled, dead_letter, cancel_request). Nothing waits for a ready row: claims skip locked ones.

-- Returns whether a JSON text may be nested so deep that the server cannot parse it; only long texts are looked at.
create function ostinato_internal.is_deep(document text) returns boolean language sql immutable parallel safe as $$
    select octet_length($1) > 10000 and length($1) - length(translate($1, '[{', '')) > 1000
$$;

-- Refuses args that could not be read back: not an object, too large, or holding what PostgreSQL cannot hold as text.
create function ostinato_internal.check_args(kind text, args text) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_limit constant integer := ostinato_internal.most_bytes();
begin
    if octet_length(args) > v_limit then
        raise exception using errcode = 'OS400',
            message = format('args of %s are %s bytes, the limit is %s', kind, octet_length(args), v_limit),
            detail = json_build_object('kind', kind, 'bytes', octet_length(args), 'limit', v_limit),
            hint = 'Store the data in a table or a file and pass its key.';
    end if;
    if json_typeof(args::json) <> 'object' then
        raise exception using errcode = 'OS400',
            message = format('args of %s must be a JSON object, got %s', kind, json_typeof(args::json)),
            detail = json_build_object('kind', kind, 'got', json_typeof(args::json)),
            hint = 'Pass named arguments, such as {"invoice_id": 7}.';
    end if;
    -- Only text with an escape that may be NUL or a lone surrogate pays for the full check.
    if strpos(args, '\u0000') > 0 or strpos(lower(args), '\ud') > 0 then
        perform args::jsonb;
    end if;
exception
    when untranslatable_character or invalid_text_representation or statement_too_complex then
        raise exception using errcode = 'OS400',
            message = format('args of %s are not valid JSON text: %s', kind, sqlerrm),
            detail = json_build_object('kind', kind),
            hint = 'Remove NUL characters (\u0000) and unpaired surrogates, nest it less, and check the syntax.';
end
$$;

-- Refuses a kind, queue, tenant or key that is empty or longer than 200 characters.
create function ostinato_internal.check_name(what text, value text) returns void language plpgsql immutable as $$
begin
    if value is null or length(value) not between 1 and ostinato_internal.longest_name() then
        raise exception using errcode = 'OS400',
            message = format('%s must be 1 to %s characters, got %s', what, ostinato_internal.longest_name(),
                             coalesce(length(value)::text, 'null')),
            detail = json_build_object('field', what, 'length', length(value)),
            hint = format('Choose a shorter %s.', what);
    end if;
end
$$;

-- Refuses what no column or index can hold, and a time that never comes. Null is what is not given.
create function ostinato_internal.check_options(
    priority integer default null, max_attempts integer default null, run_at timestamptz default null,
    limit_key text default null, correlation_id text default null, limit_scope text default null
) returns void language plpgsql immutable as $$
begin
    if limit_scope not in ('tenant', 'installation') then
        raise exception using errcode = 'OS400', message = format('unknown limit_scope %L', limit_scope),
            detail = json_build_object('limit_scope', limit_scope),
            hint = 'A limit key is that of the tenant, or of the installation, shared by all tenants.';
    end if;
    if priority not between -32768 and 32767 or max_attempts not between 1 and 32767 or not isfinite(run_at) then
        raise exception using errcode = 'OS400',
            message = format('out of range: priority %s, max_attempts %s or run_at %s', priority, max_attempts, run_at),
            detail = json_build_object('priority', priority, 'max_attempts', max_attempts, 'run_at', run_at),
            hint = 'A priority is -32768 to 32767, max_attempts is 1 to 32767, and run_at is a time that comes.';
    end if;
    if limit_key is not null then
        perform ostinato_internal.check_name('limit_key', limit_key);
    end if;
    if correlation_id is not null then
        perform ostinato_internal.check_name('correlation_id', correlation_id);
    end if;
end
$$;

-- Returns the tenant of a call: the one given, else the transaction's app.tenant_id, else 'default'.
create function ostinato.tenant(given text) returns text language sql stable as $$
    select coalesce(given, nullif(pg_catalog.current_setting('app.tenant_id', true), ''), 'default')
$$;

-- Returns the correlation id of a call: the one given, else the transaction's app.correlation_id, else none.
create function ostinato.correlation(given text) returns text language sql stable as $$
    select coalesce(given, nullif(pg_catalog.current_setting('app.correlation_id', true), ''))
$$;

-- Refuses a job whose kind, tenant, args or queue no column can hold; one that is fine passes.
create function ostinato_internal.check_parts(kind text, tenant_id text, args text, queue text) returns void
language sql immutable as $$
    select ostinato_internal.check_name('kind', $1), ostinato_internal.check_name('tenant_id', $2),
           ostinato_internal.check_args($1, coalesce($3, 'null')), ostinato_internal.check_name('queue', $4)
$$;

-- Adds one job and returns its id, or the id of the job that already holds its unique key. A unique key belongs to the
-- tenant of the job. So does a limit key, unless `limit_scope` is 'installation': then the jobs of all tenants with
-- that key share its slots. A tenant adds jobs of open kinds only, see doors.sql.
create function ostinato.enqueue_job(
    kind text, args json default '{}',
    queue text default null, priority integer default null,
    run_at timestamptz default null,
    tenant_id text default null, correlation_id text default null,
    limit_key text default null,
    unique_key text default null, unique_policy text default 'return',
    unique_states text[] default '{scheduled,ready,running}',
    max_attempts integer default null, limit_scope text default 'tenant', subject text default null,
    traceparent text default null
) returns bigint language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now       constant timestamptz := ostinato.now();
    v_id        constant bigint := ostinato.new_id(v_now);
    v_tenant    constant text := ostinato.tenant(enqueue_job.tenant_id);
    v_part_of   constant text := ostinato.correlation(enqueue_job.correlation_id);
    v_queue     text := enqueue_job.queue;
    v_priority  integer := enqueue_job.priority;
    v_args      constant text := enqueue_job.args::text;
    v_secret    text[];
    v_subject   constant text := ostinato.subject(enqueue_job.subject);
    v_holder    bigint;
begin
    if not ostinato_internal.sees_all() then
        return ostinato_internal.own_enqueue_job(
            kind, args, queue, priority, run_at, tenant_id, correlation_id, limit_key, unique_key, unique_policy,
            unique_states, max_attempts, limit_scope, subject, traceparent);
    end if;
    -- Each look and each call costs a single enqueue a part of its time: only what may be wrong is checked to the end.
    -- The kind is looked at also when the caller gives all its defaults: it says which arguments are secret.
    select coalesce(v_queue, k.queue, 'default'), coalesce(v_priority, k.priority, 0), k.secret_args
    into v_queue, v_priority, v_secret from (values (1)) one left join kind k on k.name = enqueue_job.kind;
    if (length(enqueue_job.kind) between 1 and ostinato_internal.longest_name()
        and length(v_tenant) between 1 and ostinato_internal.longest_name()
        and length(v_queue) between 1 and ostinato_internal.longest_name()
        and json_typeof(enqueue_job.args) = 'object' and octet_length(v_args) <= ostinato_internal.most_bytes()
        and strpos(v_args, '\u') = 0) is not true then
        perform ostinato_internal.check_parts(enqueue_job.kind, v_tenant, v_args, v_queue);
    end if;
    perform ostinato_internal.check_here(array[v_tenant]) from tenant_place p where p.tenant_id = v_tenant;
    if v_secret <> '{}' then
        perform ostinato_internal.check_secret_args(enqueue_job.kind, enqueue_job.args, v_secret);
    end if;
    perform ostinato_internal.check_options(v_priority, enqueue_job.max_attempts, enqueue_job.run_at,
                                            enqueue_job.limit_key, v_part_of, enqueue_job.limit_scope);
    if enqueue_job.unique_key is not null then
        v_holder := ostinato_internal.hold_unique_key(v_tenant, enqueue_job.unique_key, v_id, enqueue_job.unique_policy,
                                                      enqueue_job.unique_states);
        if v_holder <> v_id then return v_holder; end if;
    end if;
    insert into job (id, created_at, run_at, priority, max_attempts, kind, queue, tenant_id, args, limit_key,
                     unique_key, correlation_id, unique_states, limit_scope, subject, traceparent)
    values (v_id, v_now, enqueue_job.run_at, v_priority, enqueue_job.max_attempts, enqueue_job.kind, v_queue, v_tenant,
            enqueue_job.args, enqueue_job.limit_key, enqueue_job.unique_key, v_part_of,
            case when enqueue_job.unique_key is not null
                then nullif(enqueue_job.unique_states, '{scheduled,ready,running}') end, nullif(limit_scope, 'tenant'),
            ostinato_internal.note_subject(v_tenant, v_subject), ostinato_internal.checked_trace(traceparent));
    if enqueue_job.run_at > v_now then
        insert into scheduled select w.* from ostinato_internal.new_place(
            v_id, v_priority, enqueue_job.unique_key is not null, v_queue, v_tenant, enqueue_job.kind,
            enqueue_job.limit_key, enqueue_job.limit_scope) p
        cross join lateral ostinato_internal.scheduled_row(p, enqueue_job.run_at, 'later') w;
    else
        insert into ready select p.* from ostinato_internal.new_place(
            v_id, v_priority, enqueue_job.unique_key is not null, v_queue, v_tenant, enqueue_job.kind,
            enqueue_job.limit_key, enqueue_job.limit_scope) p;
    end if;
    return v_id;
end
$$;

-- Returns a traceparent of W3C Trace Context, or null for whatever else somebody sent.
create function ostinato_internal.checked_trace(traceparent text) returns text language sql immutable as $$
    select case when length($1) = 55 and $1 ~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$' then $1 end
$$;

-- Takes a unique key for a job, or returns the job that has it. 'refuse' raises instead; 'replace' takes the place of
-- a job that still waits (and returns the holder when it does not).
create function ostinato_internal.hold_unique_key(
    tenant_id text, unique_key text, job_id bigint, policy text, states text[]
) returns bigint language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_holder bigint;
begin
    perform ostinato_internal.check_name('unique_key', hold_unique_key.unique_key);
    if policy is null or policy not in ('return', 'refuse', 'replace')
       or states is null or not states <@ '{scheduled,ready,running,done,cancelled,dead}' or states = '{}' then
        raise exception using errcode = 'OS400',
            message = format('unknown unique policy %L or states %s', policy, states),
            detail = json_build_object('policy', policy, 'states', states),
            hint = 'Policies: return, refuse, replace. States: scheduled, ready, running, done, cancelled, dead.';
    end if;
    loop
        insert into job_unique (tenant_id, unique_key, job_id, states)
        values (hold_unique_key.tenant_id, hold_unique_key.unique_key, hold_unique_key.job_id, hold_unique_key.states)
        on conflict do nothing;
        if found then
            return hold_unique_key.job_id;
        end if;
        select u.job_id into v_holder from job_unique u
        where u.tenant_id = hold_unique_key.tenant_id and u.unique_key = hold_unique_key.unique_key;
        continue when not found;  -- the holder finished in between
        if policy = 'replace' then  -- nested: a tenant may not call drop_waiting, and naming it would fail
            if ostinato_internal.drop_waiting(v_holder, format('replaced by job %s', hold_unique_key.job_id)) then
                delete from job_unique u where u.job_id = v_holder;  -- also when it was to be held by cancelled jobs
                continue;
            end if;
        elsif policy = 'refuse' then
            raise exception using errcode = 'OS411',
                message = format('unique key %L is held by job %s', hold_unique_key.unique_key, v_holder),
                detail = json_build_object('unique_key', hold_unique_key.unique_key, 'job_id', v_holder),
                hint = 'Wait for that job to leave the chosen states, or use the policy return or replace.';
        end if;
        return v_holder;
    end loop;
end
$$;

-- Adds many jobs in one statement and returns their ids in order. Arrays are null (the default for all), hold one value
-- (the same for all) or one value per job. Jobs with a unique key go one by one, with the policy `return`. With a
-- group they are children (children.sql), which have no unique key, and which tenants do not add by themselves.
create function ostinato.enqueue_jobs(
    kinds text[], args text[], queues text[] default null, priorities integer[] default null,
    run_ats timestamptz[] default null, tenant_ids text[] default null, correlation_ids text[] default null,
    limit_keys text[] default null, unique_keys text[] default null, max_attempts integer[] default null,
    limit_scopes text[] default null, subjects text[] default null,
    parent_id bigint default null, group_id bigint default null, traceparent text default null
) returns setof bigint language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now   constant timestamptz := ostinato.now();
    v_base  constant bigint := ostinato_internal.first_id(v_now);
    v_mine  constant text := ostinato.tenant(null);
    v_ours  constant text := ostinato.correlation(null);
    v_tries constant integer[] := enqueue_jobs.max_attempts;
    v_about constant text := ostinato.subject(null);
    v_trace constant text := ostinato_internal.checked_trace(traceparent);
begin
    if not ostinato_internal.sees_all() then
        return query select ostinato_internal.own_enqueue_jobs(kinds, args, queues, priorities, run_ats, tenant_ids,
            correlation_ids, limit_keys, unique_keys, v_tries, limit_scopes, subjects, traceparent);
        return;
    end if;
    perform ostinato_internal.check_lengths(cardinality(args), cardinality(kinds), cardinality(queues),
        cardinality(priorities), cardinality(run_ats), cardinality(tenant_ids), cardinality(correlation_ids),
        cardinality(limit_keys), cardinality(unique_keys), cardinality(v_tries), cardinality(limit_scopes),
        cardinality(subjects));
    if cardinality(unique_keys) > 0 then
        return query select ostinato_internal.enqueue_each(kinds, args, queues, priorities, run_ats, tenant_ids,
            correlation_ids, limit_keys, unique_keys, v_tries, limit_scopes, subjects);
        return;
    end if;
    perform ostinato_internal.check_here(tenant_ids || v_mine), ostinato_internal.check_sets(kinds, args, queues,
        priorities, run_ats, tenant_ids || v_mine, correlation_ids || v_ours, limit_keys, v_tries, limit_scopes);
    return query with given as materialized (
        select v_base + nextval('job_id_seq') as id, n, a.args::json as args,
               case when cardinality(kinds) = 1 then kinds[1] else kinds[n] end as kind,
               case when cardinality(queues) = 1 then queues[1] else queues[n] end as queue,
               ostinato_internal.pick(priorities, n) as priority, ostinato_internal.pick(run_ats, n) as run_at,
               case when cardinality(tenant_ids) = 1 then tenant_ids[1] else tenant_ids[n] end as tenant_id,
               ostinato_internal.pick(correlation_ids, n) as correlation_id,
               case when cardinality(limit_keys) = 1 then limit_keys[1] else limit_keys[n] end as limit_key,
               case when cardinality(limit_scopes) = 1 then limit_scopes[1] else limit_scopes[n] end as limit_scope,
               case when cardinality(v_tries) = 1 then v_tries[1] else v_tries[n] end as max_attempts, a.subject
        from unnest(args, ostinato_internal.note_subjects(tenant_ids, subjects, v_mine, v_about, cardinality(args)))
            with ordinality a (args, subject, n)
    ), placed as materialized (
        select g.id, g.n, g.args, g.kind, coalesce(g.queue, k.queue, 'default') as queue, g.run_at, g.limit_key,
               coalesce(g.priority, k.priority, 0)::smallint as priority, g.max_attempts, g.limit_scope,
               coalesce(g.tenant_id, v_mine) as tenant_id, coalesce(g.correlation_id, v_ours) as correlation_id,
               g.subject
        from given g left join kind k on k.name = g.kind
    ), new_job as (
        insert into job (id, created_at, run_at, priority, max_attempts, kind, queue, tenant_id, args, limit_key,
                         correlation_id, limit_scope, subject, parent_id, group_id, traceparent)
        select p.id, v_now, p.run_at, p.priority, p.max_attempts, p.kind, p.queue, p.tenant_id, p.args, p.limit_key,
               p.correlation_id, nullif(p.limit_scope, 'tenant'), p.subject, $13, $14, v_trace from placed p
    ), new_ready as (
        insert into ready select r.* from placed p cross join lateral ostinato_internal.new_place(
            p.id, p.priority, $14 is not null, p.queue, p.tenant_id, p.kind, p.limit_key, p.limit_scope) r
        where p.run_at is null or p.run_at <= v_now
    ), new_scheduled as (
        insert into scheduled select w.* from placed p cross join lateral ostinato_internal.new_place(
            p.id, p.priority, $14 is not null, p.queue, p.tenant_id, p.kind, p.limit_key, p.limit_scope) r
        cross join lateral ostinato_internal.scheduled_row(r, p.run_at, 'later') w where p.run_at > v_now
    )
    select p.id from placed p order by p.n;
end
$$;

-- Adds jobs one by one: each may find that its unique key is taken.
create function ostinato_internal.enqueue_each(
    kinds text[], args text[], queues text[], priorities integer[], run_ats timestamptz[], tenant_ids text[],
    correlation_ids text[], limit_keys text[], unique_keys text[], max_attempts integer[], limit_scopes text[],
    subjects text[]
) returns setof bigint language sql set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select ostinato.enqueue_job(
        ostinato_internal.pick($1, n), a.args::json, ostinato_internal.pick($3, n), ostinato_internal.pick($4, n),
        ostinato_internal.pick($5, n), ostinato_internal.pick($6, n), ostinato_internal.pick($7, n),
        ostinato_internal.pick($8, n), ostinato_internal.pick($9, n), max_attempts => ostinato_internal.pick($10, n),
        limit_scope => coalesce(ostinato_internal.pick($11, n), 'tenant'), subject => ostinato_internal.pick($12, n))
    from unnest($2) with ordinality a (args, n) order by n
$$;

-- Refuses, for arrays, what check_args, check_secret_args, check_name and check_options refuse: they are called only
-- for what looks wrong.
create function ostinato_internal.check_sets(
    kinds text[], args text[], queues text[], priorities integer[], run_ats timestamptz[], tenant_ids text[],
    correlation_ids text[], limit_keys text[], max_attempts integer[], limit_scopes text[]
) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_bad integer;
begin
    select min(n) into v_bad from unnest(args) with ordinality a (text, n)
    where a.text is null or octet_length(a.text) > ostinato_internal.most_bytes()
      or left(ltrim(a.text, e' \t\r\n'), 1) <> '{'
       or strpos(a.text, '\u0000') > 0 or strpos(lower(a.text), '\ud') > 0 or ostinato_internal.is_deep(a.text);
    if v_bad is not null then  -- slow and exact, only when something looks wrong
        perform ostinato_internal.check_args(ostinato_internal.pick(kinds, n), coalesce(a.text, 'null'))
            from unnest(args) with ordinality a (text, n);
    end if;
    perform ostinato_internal.check_secret_args(k.name, a.text::json, k.secret_args)
        from kind k join unnest(args) with ordinality a (text, n) on ostinato_internal.pick(kinds, n) = k.name
        where k.secret_args <> '{}';
    perform ostinato_internal.check_name('kind', k) from unnest(kinds) k
        where k is null or length(k) not between 1 and ostinato_internal.longest_name();
    perform ostinato_internal.check_name('queue', q) from unnest(queues) q
        where length(q) not between 1 and ostinato_internal.longest_name();
    perform ostinato_internal.check_name('tenant_id', t) from unnest(tenant_ids) t
        where length(t) not between 1 and ostinato_internal.longest_name();
    perform ostinato_internal.check_options(min(p)), ostinato_internal.check_options(max(p)) from unnest(priorities) p;
    perform ostinato_internal.check_options(null, min(m)), ostinato_internal.check_options(null, max(m))
        from unnest(max_attempts) m;
    perform ostinato_internal.check_options(run_at => r) from unnest(run_ats) r where not isfinite(r);
    perform ostinato_internal.check_options(limit_key => k) from unnest(limit_keys) k
        where length(k) not between 1 and ostinato_internal.longest_name();
    perform ostinato_internal.check_options(limit_scope => s) from unnest(limit_scopes) s
        where s not in ('tenant', 'installation');
    perform ostinato_internal.check_options(correlation_id => c) from unnest(correlation_ids) c
        where length(c) not between 1 and ostinato_internal.longest_name();
end
$$;

-- Returns the n-th element of an array that is null, holds one value for all, or one for each.
create function ostinato_internal.pick(anyarray, n bigint) returns anyelement language sql immutable parallel safe as $$
    select case when cardinality($1) = 1 then $1[1] else $1[n] end
$$;

-- Refuses arrays that are neither null, of length one, nor of the right length.
create function ostinato_internal.check_lengths(count integer, variadic lengths integer[]) returns void
language plpgsql immutable as $$
begin
    if count is null or exists (select from unnest(lengths) l where l is not null and l not in (1, count)) then
        raise exception using errcode = 'OS400',
            message = format('arrays of lengths %s beside %s args', lengths, count),
            detail = json_build_object('args', count, 'lengths', lengths),
            hint = 'Give each array null, one value for all, or one value per job.';
    end if;
end
$$;

-- Returns the state of a job, by the place it is in; null when there is no such job.
create function ostinato.job_state(job_id bigint) returns text language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select coalesce((
        select case
            when ostinato_internal.is_ready(j.id) then 'ready'
            when exists (select from scheduled s where s.job_id = j.id) then 'scheduled'
            when exists (select from ostinato_internal.held_jobs(array[j.id])) then 'running'
            when exists (select from dead_letter d where d.job_id = j.id) then 'dead'
            else (select o.outcome from outcome o where o.job_id = j.id order by o.attempt desc limit 1)
        end
        from job j where j.id = $1), ostinato_internal.refuse_overlooked($1))
$$;

-- Returns whether a job is in `ready`. A first run is found by its lane, a moved one by the small index for those.
create function ostinato_internal.is_ready(job_id bigint) returns boolean language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
    select exists (select from ready r where r.job_id = $1 and r.position <> r.job_id)
        or exists (
            select from job j cross join lateral (
                select from ready r
                where (r.queue, r.priority, r.tenant_id, r.position) = (j.queue, j.priority, j.tenant_id, j.id)
                  and r.job_id = j.id limit 1) r  -- the limit keeps it a probe, whatever the statistics say
            where j.id = $1)
$$;

-- Takes waiting jobs out of ready and scheduled; returns those that were there, with what the next run would have had.
create function ostinato_internal.take_waiting(job_ids bigint[])
returns table (job_id bigint, attempt integer, failures smallint, crashes smallint) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off as $$
#variable_conflict use_column
begin
    return query delete from scheduled s where s.job_id = any (job_ids)
        returning s.job_id, s.attempt, s.failures, s.crashes;
    return query delete from ready r where r.job_id = any (job_ids) and r.position <> r.job_id
        returning r.job_id, r.attempt, r.failures, r.crashes;
    return query delete from ready r where r.ctid = any (array(
        select f.row_id from job j cross join lateral (
            select l.ctid as row_id from ready l
            where (l.queue, l.priority, l.tenant_id, l.position) = (j.queue, j.priority, j.tenant_id, j.id)
              and l.job_id = j.id
            limit 1 for update) f
        where j.id = any (job_ids)))
        returning r.job_id, r.attempt, r.failures, r.crashes;
end
$$;

-- Cancels a job if it still waits; false when it does not.
create function ostinato_internal.drop_waiting(job_id bigint, reason text) returns boolean language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    insert into outcome (job_id, attempt, finished_at, outcome, error)
    select w.job_id, w.attempt, ostinato.now(), 'cancelled', json_build_object('reason', reason)
    from ostinato_internal.take_waiting(array[drop_waiting.job_id]) w;
    if not found then
        return false;
    end if;
    perform ostinato_internal.free_unique_keys(array[drop_waiting.job_id], 'cancelled'),
            ostinato_internal.count_children(array[drop_waiting.job_id], 'cancelled');
    return true;
end
$$;

-- Gives up the unique keys of jobs that enter a state outside their chosen set.
create function ostinato_internal.free_unique_keys(job_ids bigint[], state text) returns void language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    delete from job_unique u where u.job_id = any (job_ids) and not state = any (u.states)
$$;

-- Cancels a job: at once while it waits (or lies dead), by request while it runs. Returns the state it was in.
create function ostinato.cancel_job(job_id bigint, reason text default 'cancelled by request') returns text
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_state constant text := case when ostinato_internal.sees_all()
        then ostinato_internal.cancel_job(job_id, reason) else ostinato_internal.own_cancel_job(job_id, reason) end;
begin
    perform ostinato_internal.record(
        'cancel', 'job', job_id::text, job_ids => array[job_id], detail => json_build_object('was', v_state),
        count => case when v_state in ('done', 'cancelled') then 0 else 1 end, why => reason);
    return v_state;
end
$$;

-- Cancels a job for a verb, or for the engine itself.
create function ostinato_internal.cancel_job(job_id bigint, reason text) returns text
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_state text;
begin
    perform ostinato_internal.lock_lanes(array[cancel_job.job_id]);
    -- A job may move between two places while we look; it never moves for long.
    for v_try in 1 .. ostinato_internal.most_tries() loop
        v_state := ostinato.job_state(cancel_job.job_id);
        if v_state is null then
            perform ostinato_internal.refuse_unknown(cancel_job.job_id);
        elsif v_state in ('ready', 'scheduled')
              and ostinato_internal.drop_waiting(cancel_job.job_id, cancel_job.reason) then
            -- A request that came too late for its run is fulfilled with this; it must not meet a later retry.
            perform ostinato_internal.forget_run(array[cancel_job.job_id], array[cancel_job.job_id]),
                    ostinato_internal.end_deliveries(array[cancel_job.job_id]);
            return v_state;
        elsif v_state = 'running' then
            -- Without a lock on the claim: cancelling waits for no worker, and none waits for it. If the run ends
            -- meanwhile without having seen the request, settle_cancels fulfils it.
            insert into cancel_request (job_id, requested_at, reason)
            values (cancel_job.job_id, ostinato.now(), cancel_job.reason) on conflict do nothing;
            return v_state;
        elsif v_state = 'dead' then
            delete from dead_letter d where d.job_id = cancel_job.job_id;
            if found then
                insert into outcome (job_id, attempt, finished_at, outcome, error)
                select cancel_job.job_id, max(o.attempt) + 1, ostinato.now(), 'cancelled',
                       json_build_object('reason', cancel_job.reason)
                from outcome o where o.job_id = cancel_job.job_id;
                perform ostinato_internal.free_unique_keys(array[cancel_job.job_id], 'cancelled'),
                        ostinato_internal.forget_run(array[cancel_job.job_id], array[cancel_job.job_id]),
                        ostinato_internal.end_deliveries(array[cancel_job.job_id]),
                        ostinato_internal.count_children(array[cancel_job.job_id], 'dead', -1),
                        ostinato_internal.count_children(array[cancel_job.job_id], 'cancelled');
                return v_state;
            end if;
        elsif v_state in ('done', 'cancelled') then
            return v_state;
        end if;
    end loop;
    raise exception using errcode = 'OS409', message = format('job %s keeps moving', cancel_job.job_id),
        detail = json_build_object('job_id', cancel_job.job_id), hint = 'Cancel it again.';
end
$$;

-- Cancels a job of the tenant, who may write none of the tables that this takes.
create function ostinato_internal.own_cancel_job(job_id bigint, reason text) returns text
language plpgsql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform ostinato_internal.check_job(job_id, ostinato_internal.own_tenant()),
            ostinato_internal.check_name('reason', reason);
    return ostinato_internal.cancel_job(job_id, reason);
end
$$;

-- Fulfils requests to cancel a job that left its worker's hands before the request was seen. Returns how many.
-- Polls call it, so it waits for nobody: a job that somebody else is moving is left to the next poll.
create function ostinato_internal.settle_cancels(most integer default 100) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_request record;
    v_state   text;
    v_count   integer := 0;
begin
    for v_request in
        select r.job_id, r.reason from cancel_request r
        where not exists (select from claim c where r.job_id = any (c.job_ids))
        order by r.job_id limit most for update skip locked
    loop
        v_state := ostinato.job_state(v_request.job_id);
        continue when v_state in ('ready', 'scheduled', 'dead') and not ostinato_internal.lock_place(v_request.job_id);
        if v_state is null or ostinato_internal.cancel_job(v_request.job_id, v_request.reason) <> 'running' then
            delete from cancel_request r where r.job_id = v_request.job_id;
            v_count := v_count + 1;
        end if;
    end loop;
    return v_count;
end
$$;

-- Locks the row of a job that waits or lies dead, and before it that of its subscription, without waiting; false when
-- somebody else has one of them, or it is not there.
create function ostinato_internal.lock_place(job_id bigint) returns boolean language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
begin
    perform from subscription s where s.kind = (select j.kind from job j where j.id = lock_place.job_id)
    for update skip locked;
    if not found and exists (
        select from subscription s join job j on j.kind = s.kind where j.id = lock_place.job_id) then
        return false;
    end if;
    perform from scheduled s where s.job_id = lock_place.job_id for update skip locked;
    if not found then
        perform from dead_letter d where d.job_id = lock_place.job_id for update skip locked;
    end if;
    if not found then
        perform from ready r where r.job_id = lock_place.job_id and r.position <> r.job_id for update skip locked;
    end if;
    if not found then
        perform from job j cross join lateral (
            select from ready r
            where (r.queue, r.priority, r.tenant_id, r.position) = (j.queue, j.priority, j.tenant_id, j.id)
              and r.job_id = j.id limit 1 for update skip locked) r
        where j.id = lock_place.job_id;
    end if;
    return found;
end
$$;

-- Puts a job into `ready` for another run, now. The row's place in its lane is `at`.
create function ostinato_internal.make_ready(
    job_id bigint, at bigint, attempt integer, failures integer, crashes integer
)
returns void
language sql set search_path = ostinato_data, pg_catalog, pg_temp as $$
    insert into ready select r.* from job j
    cross join lateral ostinato_internal.place_at(ostinato_internal.place_of(j, 0, $3, $4, $5), at) r where j.id = $1
$$;

-- Runs a job again now: one that waits for its time, lies dead, or was cancelled. Returns the state it was in.
create function ostinato.retry_job(job_id bigint) returns text language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_state constant text := case when ostinato_internal.sees_all() then ostinato_internal.retry_job(job_id)
        else ostinato_internal.own_retry_job(job_id) end;
begin
    perform ostinato_internal.record('retry', 'job', job_id::text, job_ids => array[job_id],
                                     detail => json_build_object('was', v_state));
    return v_state;
end
$$;

-- Runs a job again for a verb.
create function ostinato_internal.retry_job(job_id bigint) returns text language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_state text;
    v_job   record;
    v_mine  boolean;
begin
    -- Two retries of one job must not both make it ready: the second waits here and then sees the first's effect.
    perform from job j where j.id = retry_job.job_id for update;
    perform ostinato_internal.check_not_erased(retry_job.job_id);
    perform ostinato_internal.lock_lanes(array[retry_job.job_id]);
    v_state := ostinato.job_state(retry_job.job_id);
    if exists (select from scheduled s where s.job_id = retry_job.job_id and s.reason = 'behind') then
        perform ostinato_internal.refuse_behind(retry_job.job_id);
    elsif v_state = 'scheduled' then
        delete from scheduled s where s.job_id = retry_job.job_id returning s.attempt, s.failures, s.crashes into v_job;
    elsif v_state in ('dead', 'cancelled') then
        delete from dead_letter d where d.job_id = retry_job.job_id;
        -- A dead letter that is gone by now was redriven (or cancelled) in the meantime.
        v_mine := found or v_state = 'cancelled';
        if v_mine then
            perform ostinato_internal.rehold_unique_key(retry_job.job_id),
                    ostinato_internal.count_children(array[retry_job.job_id], v_state, -1);
        end if;
        -- The same types as above: a session plans the call below once.
        select max(o.attempt) + 1 as attempt, 0::smallint as failures, 0::smallint as crashes into v_job
        from outcome o where o.job_id = retry_job.job_id and v_mine;
    elsif v_state is null then
        perform ostinato_internal.refuse_unknown(retry_job.job_id);
    else
        raise exception using errcode = 'OS412',
            message = format('job %s is %s; only scheduled, dead and cancelled jobs can be retried', retry_job.job_id,
                             v_state),
            detail = json_build_object('job_id', retry_job.job_id, 'state', v_state),
            hint = case v_state when 'done' then 'Enqueue a new job.'
                else 'It runs by itself; ask: ostinato why ' || retry_job.job_id end;
    end if;
    if v_job.attempt is null then
        raise exception using errcode = 'OS409',
            message = format('job %s moved while it was retried', retry_job.job_id),
            detail = json_build_object('job_id', retry_job.job_id),
            hint = 'Look at it again and repeat if still needed.';
    end if;
    perform ostinato_internal.make_ready(retry_job.job_id, ostinato.new_id(), v_job.attempt, v_job.failures,
                                         v_job.crashes),
            -- The last word counts, not an old request.
            ostinato_internal.forget_run(array[retry_job.job_id], array[retry_job.job_id]),
            ostinato_internal.rejoin_lanes(array[retry_job.job_id]);
    return v_state;
end
$$;

-- Says that an event's job has to wait for its turn.
create function ostinato_internal.refuse_behind(job_id bigint) returns void language plpgsql as $$
begin
    raise exception using errcode = 'OS412', message = format('job %s waits behind another of its key', job_id),
        detail = json_build_object('job_id', job_id, 'state', 'scheduled', 'reason', 'behind'),
        hint = format('Events of a key are delivered in order. Ask what it waits for: ostinato why %s', job_id);
end
$$;

-- Runs a job of the tenant again.
create function ostinato_internal.own_retry_job(job_id bigint) returns text language plpgsql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform ostinato_internal.check_job(job_id, ostinato_internal.own_tenant());
    return ostinato_internal.retry_job(job_id);
end
$$;

-- Moves a waiting job to another time; a time that has passed is now. Returns the state it was in.
create function ostinato.move_job(job_id bigint, run_at timestamptz) returns text language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_state constant text := case when ostinato_internal.sees_all() then ostinato_internal.move_job(job_id, run_at)
        else ostinato_internal.own_move_job(job_id, run_at) end;
begin
    perform ostinato_internal.record('move', 'job', job_id::text, job_ids => array[job_id],
                                     detail => json_build_object('was', v_state, 'run_at', run_at));
    return v_state;
end
$$;

-- Moves a job for a verb.
create function ostinato_internal.move_job(job_id bigint, run_at timestamptz) returns text language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now    constant timestamptz := ostinato.now();
    v_state  text;
    v_reason text;
begin
    perform ostinato_internal.check_options(run_at => move_job.run_at);
    perform from job j where j.id = move_job.job_id for update;  -- as retry_job
    v_state := ostinato.job_state(move_job.job_id);
    select s.reason into v_reason from scheduled s where s.job_id = move_job.job_id;
    if v_state is null then
        perform ostinato_internal.refuse_unknown(move_job.job_id);
    elsif v_state not in ('ready', 'scheduled') or v_reason in ('behind', 'event', 'sleep')
          or exists (select from job j join subscription u on u.kind = j.kind where j.id = move_job.job_id) then
        raise exception using errcode = 'OS412',
            message = format('job %s cannot be moved: it is %s', move_job.job_id,
                             case v_reason when 'behind' then 'behind another of its key'
                                 when 'event' then 'waiting for an event' when 'sleep' then 'asleep in one of its steps'
                                 else case when v_state in ('ready', 'scheduled') then 'the delivery of an event'
                                     else v_state end end),
            detail = json_build_object('job_id', move_job.job_id, 'state', v_state, 'reason', v_reason),
            hint = 'Jobs that wait for their time or for a worker can be moved.';
    end if;
    with taken as materialized (select w.* from ostinato_internal.take_waiting(array[move_job.job_id]) w), later as (
        insert into scheduled select w.* from taken t join job j on j.id = t.job_id
        cross join lateral ostinato_internal.scheduled_row(
            ostinato_internal.place_of(j, 0, t.attempt, t.failures, t.crashes), move_job.run_at, 'later') w
        where move_job.run_at > v_now
    )
    select ostinato_internal.make_ready(t.job_id, ostinato.new_id(), t.attempt, t.failures, t.crashes)
    from taken t where move_job.run_at <= v_now
    union all select null from taken t where move_job.run_at > v_now into v_reason;
    if not found then
        raise exception using errcode = 'OS409', message = format('job %s moved meanwhile', move_job.job_id),
            detail = json_build_object('job_id', move_job.job_id),
            hint = 'Look at it again and repeat if still needed.';
    end if;
    return v_state;
end
$$;

-- Moves a job of the tenant. One of a closed kind may work for other tenants too: to put it off would make them wait.
create function ostinato_internal.own_move_job(job_id bigint, run_at timestamptz) returns text
language plpgsql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform ostinato_internal.check_job(job_id, ostinato_internal.own_tenant());
    if exists (
        select from job j join kind k on k.name = j.kind where j.id = own_move_job.job_id and k.open is false) then
        raise exception using errcode = 'OS412',
            message = format('job %s cannot be moved: its kind is closed to tenants', own_move_job.job_id),
            detail = json_build_object('job_id', own_move_job.job_id),
            hint = 'Its application says when it runs. An operator of the installation may move it.';
    end if;
    return ostinato_internal.move_job(job_id, run_at);
end
$$;

-- Runs jobs now that wait for their time: later, a retry, a snooze. All others, those behind another of their key, and
-- those that somebody else is moving, are left alone: it waits for nobody. Returns the ids of those that it moved, with
-- their queues, to be rung.
create function ostinato.hasten_jobs(job_ids bigint[]) returns table (job_id bigint, queue text) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_count bigint;
begin
    return query select h.job_id, h.queue from ostinato_internal.hastened_jobs(job_ids) h;
    get diagnostics v_count = row_count;
    perform ostinato_internal.record('hasten', 'job', case when cardinality(job_ids) = 1 then job_ids[1]::text end,
                                     job_ids => job_ids, count => v_count);
end
$$;

-- Runs jobs now for a verb.
create function ostinato_internal.hastened_jobs(job_ids bigint[]) returns table (job_id bigint, queue text)
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off as $$
#variable_conflict use_column
begin
    return query
    with gone as (
        delete from scheduled s where s.ctid = any (array(
            select w.ctid from scheduled w where w.job_id = any (hastened_jobs.job_ids) and w.reason <> 'behind'
            for update skip locked))
        returning s as was
    ), made as (
        insert into ready select r.*
        from (select o.was, ostinato.new_id() as at
              from (select g.was from gone g order by (g.was).run_at, (g.was).job_id) o) g
        cross join lateral ostinato_internal.ready_row(g.was, g.at) r
        returning ready.job_id, ready.queue
    )
    select m.job_id, m.queue from made m order by m.job_id;
end
$$;

-- Takes a returning job's unique key again, for the states that it was added with; refuses when another job has it by
-- now.
create function ostinato_internal.rehold_unique_key(job_id bigint) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_job    record;
    v_holder bigint;
begin
    select j.tenant_id, j.unique_key, j.unique_states into v_job from job j where j.id = rehold_unique_key.job_id;
    if v_job.unique_key is null or exists (select from job_unique u where u.job_id = rehold_unique_key.job_id) then
        return;
    end if;
    v_holder := ostinato_internal.hold_unique_key(v_job.tenant_id, v_job.unique_key, rehold_unique_key.job_id, 'refuse',
                                                  coalesce(v_job.unique_states, '{scheduled,ready,running}'));
end
$$;

-- Finds the dead letters that match a filter (null = any).
create function ostinato.find_dead_letters(
    queue text default null, kind text default null, tenant_id text default null, signature text default null,
    ids bigint[] default null
) returns setof bigint language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select d.job_id from dead_letter d
    where ($1 is null or d.queue = $1) and ($2 is null or d.kind = $2) and ($3 is null or d.tenant_id = $3)
      and ($4 is null or d.signature = $4) and ($5 is null or d.job_id = any ($5))
    order by d.job_id
$$;

-- Runs dead letters again, at most `most` of them (a canary), oldest first. With `preview` it only counts.
-- `conflicts` are those whose unique key another job holds by now: they stay dead.
create function ostinato.redrive_jobs(
    queue text default null, kind text default null, tenant_id text default null, signature text default null,
    ids bigint[] default null, most integer default null, preview boolean default false,
    out matching bigint, out redriven bigint, out conflicts bigint
) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_ids bigint[];
begin
    if ostinato_internal.sees_all() then
        select r.* into matching, redriven, conflicts, v_ids
        from ostinato_internal.redrive_jobs($1, $2, $3, $4, $5, $6, $7) r;
    else
        select r.* into matching, redriven, conflicts, v_ids
        from ostinato_internal.own_redrive_jobs($1, $2, $3, $4, $5, $6, $7) r;
    end if;
    if not preview then
        perform ostinato_internal.record(
            'redrive', 'job', tenant_id => redrive_jobs.tenant_id, job_ids => v_ids, count => redriven,
            filter => json_build_object('queue', queue, 'kind', kind, 'tenant_id', redrive_jobs.tenant_id,
                                        'signature', signature, 'ids', cardinality(ids), 'most', most),
            detail => json_build_object('matching', matching, 'conflicts', nullif(conflicts, 0)));
    end if;
end
$$;

-- Runs dead letters again for a verb; `chosen` are those that it tried.
create function ostinato_internal.redrive_jobs(
    queue text, kind text, tenant_id text, signature text, ids bigint[], most integer, preview boolean,
    out matching bigint, out redriven bigint, out conflicts bigint, out chosen bigint[]
) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_ids  bigint[];
    v_made bigint[];
    v_id   bigint;
begin
    select count(*) into matching from ostinato.find_dead_letters($1, $2, $3, $4, $5);
    redriven := 0;
    conflicts := 0;
    if preview then
        return;
    end if;
    v_ids := array(select f from ostinato.find_dead_letters($1, $2, $3, $4, $5) f limit most);
    chosen := v_ids;
    perform ostinato_internal.lock_lanes(v_ids), ostinato_internal.forget_run(v_ids, v_ids);
    with gone as (
        delete from dead_letter d using job j
        where d.job_id = any (v_ids) and j.id = d.job_id and j.unique_key is null
        returning ostinato_internal.place_of(j, 0, d.attempt + 1, 0, 0) as place
    ), made as (
        insert into ready select r.*
        from (select o.place, ostinato.new_id() as at from (select g.place from gone g order by (g.place).job_id) o) g
        cross join lateral ostinato_internal.place_at(g.place, g.at) r
        returning ready.job_id
    )
    select coalesce(array_agg(m.job_id), '{}') into v_made from made m;
    redriven := cardinality(v_made);
    perform ostinato_internal.count_children(v_made, 'dead', -1);
    perform ostinato_internal.rejoin_lanes(v_ids);
    for v_id in select d.job_id from dead_letter d where d.job_id = any (v_ids) loop  -- those with a unique key
        begin
            perform ostinato_internal.retry_job(v_id);
            redriven := redriven + 1;
        exception when sqlstate 'OS411' or sqlstate 'OS409' or sqlstate 'OS412' then
            conflicts := conflicts + 1;
        end;
    end loop;
end
$$;

-- Runs dead letters of the tenant again; of another one there are none.
create function ostinato_internal.own_redrive_jobs(
    queue text, kind text, tenant_id text, signature text, ids bigint[], most integer, preview boolean,
    out matching bigint, out redriven bigint, out conflicts bigint, out chosen bigint[]
) language sql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select r.* from ostinato_internal.redrive_jobs(
        $1, $2, case when coalesce($3, ostinato_internal.own_tenant()) = ostinato_internal.own_tenant()
            then ostinato_internal.own_tenant()
            else '' end,
        $4, $5, $6, $7) r
$$;
