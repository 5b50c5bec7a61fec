-- Bulk actions: cancel, retry, discard or redrive all jobs that match a filter, as a job of its own.
--
-- start_bulk writes a row of `bulk` and adds a job of the kind ostinato.bulk, whose id is that of the row; the job
-- calls run_bulk until it says that it is over. Each call is a transaction of its own, fenced by the job, with one
-- batch of at most 500 jobs: so a batch is done once, a stop counts after the batch that is on, and nothing is locked
-- for long. Only jobs from before the start are meant (smaller ids), so a bulk action ends, whatever is added
-- meanwhile.
--   running -> done      all that matched were tried
--           -> stopped   somebody stopped it
--           -> halted    a canary: what ran again failed again
-- A canary redrives one dead letter, then ten, then the rest; between them it waits until those have run. Dead letters
-- go oldest first, so that events of a key keep their order; other places newest first, as their indexes are.
-- Jobs that cannot be changed are refused, with the reason; they do not stop the rest.
--
-- Each batch leaves an entry in the audit, by the actor who started it, with the ids of its jobs: the trail of each job
-- shows who did it. What a filter says about arguments is not in the audit: it may be personal.
-- Lock order: the row of bulk, then as each verb (jobs.sql), then the claim of the bulk's own job (the fence).

-- Returns the jobs of a batch.
create function ostinato_internal.bulk_batch() returns integer language sql immutable parallel safe as 'select 500';

-- Limits the refusals that are listed.
create function ostinato_internal.refusal_cap() returns integer language sql immutable parallel safe as 'select 1000';

-- Limits the matching jobs that a preview counts.
create function ostinato_internal.preview_cap() returns integer language sql immutable parallel safe as 'select 10000';

-- Returns the states in which a verb finds its jobs: the one that is asked for, else those that it is for. A job that
-- moves on meanwhile (scheduled, ready, running) is met again in the next.
create function ostinato_internal.bulk_states(verb text, state text) returns text[] language plpgsql immutable as $$
declare
    v_able constant text[] := case verb
        when 'cancel' then '{scheduled,ready,running}'::text[] when 'retry' then '{scheduled,dead,cancelled}'
        when 'discard' then '{dead}' when 'redrive' then '{dead}' end;
begin
    if v_able is null then
        raise exception using errcode = 'OS400', message = format('there is no bulk action %L', verb),
            detail = json_build_object('verb', verb), hint = 'Bulk actions: cancel, retry, discard, redrive.';
    elsif not state = any (v_able) then
        raise exception using errcode = 'OS400', message = format('%s is not for jobs that are %s', verb, state),
            detail = json_build_object('verb', verb, 'state', state),
            hint = format('It is for jobs that are %s.', array_to_string(v_able, ', '));
    end if;
    -- Cancelled jobs run again only where somebody asks for them.
    return case when state is not null then array[state] else array_remove(v_able, 'cancelled') end;
end
$$;

-- Returns how many jobs a bulk action would meet, up to a cap (then `capped`), and the ids of five of them.
create function ostinato_internal.preview_bulk(
    verb text, state text, f ostinato_data.job_filter, out matching bigint, out capped boolean, out samples bigint[]
) language plpgsql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_cap   constant integer := ostinato_internal.preview_cap();
    v_state text;
    v_page  record;
begin
    matching := 0;
    samples := '{}';
    capped := false;
    foreach v_state in array ostinato_internal.bulk_states(verb, state) loop
        continue when f.signature is not null and v_state <> 'dead';
        select s.ids, s.next into v_page
        from ostinato_internal.search_jobs(
            v_state, f, case when v_state = 'dead' then 0 else ostinato_internal.last_id() end,
            (v_cap - matching)::integer, v_state = 'dead') s;
        matching := matching + cardinality(v_page.ids);
        samples := (samples || v_page.ids)[:5];
        capped := capped or v_page.next is not null;  -- the cap is reached, or the search gave up
        exit when matching >= v_cap;
    end loop;
end
$$;

-- Returns the same as preview_bulk, of the jobs of the tenant.
create function ostinato_internal.own_preview_bulk(
    verb text, state text, f ostinato_data.job_filter, out matching bigint, out capped boolean, out samples bigint[]
) language plpgsql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    f.tenant_id := ostinato_internal.own_filter_tenant(f.tenant_id);
    select p.matching, p.capped, p.samples into matching, capped, samples
    from ostinato_internal.preview_bulk(verb, state, f) p;
end
$$;

-- Returns the tenant of a tenant's filter: its own; of another one it finds nothing.
create function ostinato_internal.own_filter_tenant(asked text) returns text language sql stable as $$
    select case when coalesce($1, ostinato_internal.own_tenant()) = ostinato_internal.own_tenant()
        then ostinato_internal.own_tenant() else '' end
$$;

-- Returns how many jobs a bulk action would meet: `capped` when there are more than it counted. `samples` are the ids
-- of five.
create function ostinato.preview_bulk(
    verb text, state text default null, filter anycompatible default null::json,
    out matching bigint, out capped boolean, out samples bigint[]
) language plpgsql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_filter constant ostinato_data.job_filter := ostinato_internal.job_filter_of(filter::json);
begin
    if ostinato_internal.sees_all() then
        select p.matching, p.capped, p.samples into matching, capped, samples
        from ostinato_internal.preview_bulk(verb, state, v_filter) p;
    else
        select p.matching, p.capped, p.samples into matching, capped, samples
        from ostinato_internal.own_preview_bulk(verb, state, v_filter) p;
    end if;
end
$$;

-- Starts a bulk action and returns its id, which is that of its job. `canary` is for redrive: one, ten, the rest.
create function ostinato.start_bulk(
    verb text, state text default null, filter anycompatible default null::json, canary boolean default false,
    reason text default null
) returns bigint language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_filter constant ostinato_data.job_filter := ostinato_internal.job_filter_of(filter::json);
    v_id     bigint;
begin
    if ostinato_internal.sees_all() then
        v_id := ostinato_internal.start_bulk(verb, state, v_filter, canary, reason);
    else
        v_id := ostinato_internal.own_start_bulk(verb, state, v_filter, canary, reason);
    end if;
    perform ostinato_internal.record(
        'start', 'bulk', v_id::text, tenant_id => v_filter.tenant_id, why => reason,
        filter => ostinato_internal.public_filter(v_filter),
        detail => json_build_object('verb', verb, 'state', state, 'canary', nullif(canary, false)));
    return v_id;
end
$$;

-- Returns a filter without what it says about arguments, for the audit.
create function ostinato_internal.public_filter(f ostinato_data.job_filter) returns json language sql immutable as $$
    select json_strip_nulls(json_build_object(
        'queue', ($1).queue, 'kind', ($1).kind, 'tenant_id', ($1).tenant_id, 'correlation_id', ($1).correlation_id,
        'signature', ($1).signature, 'since', ($1).since, 'until', ($1).until,
        'args', case when ($1).args is not null then '…' end, 'text', case when ($1).text is not null then '…' end))
$$;

-- Returns a filter as it is stored: without the fields that it does not use. What it wants of arguments stays whole:
-- without its nulls it would want less, and find jobs that nobody asked for.
create function ostinato_internal.stored_filter(f ostinato_data.job_filter) returns json language sql immutable as $$
    select coalesce(json_object_agg(e.key, e.value), '{}') from json_each(row_to_json($1)) e
    where json_typeof(e.value) <> 'null'
$$;

-- Writes a bulk action, and adds its job.
create function ostinato_internal.start_bulk(
    verb text, state text, f ostinato_data.job_filter, canary boolean, reason text
) returns bigint language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    -- What waits is looked for twice: a job that ran may wait for its retry by then, or its kind was put on the shelf.
    v_states  constant text[] := ostinato_internal.bulk_states(verb, state)
                                 || case when verb = 'cancel' and state is null then '{scheduled,ready}'::text[] end;
    v_user    constant text := nullif(current_setting('app.current_user_id', true), '');
    v_said    constant text := nullif(current_setting('app.actor', true), '');
    v_tenant  constant text := coalesce(f.tenant_id, ostinato.tenant(null));
    v_found   record;
    v_id      bigint;
begin
    perform ostinato_internal.check_reason(reason) where reason is not null;
    if canary and verb <> 'redrive' then
        raise exception using errcode = 'OS400', message = format('a canary redrives, it does not %s', verb),
            detail = json_build_object('verb', verb), hint = 'Choose redrive, or leave canary out.';
    end if;
    select p.matching, p.capped into v_found from ostinato_internal.preview_bulk(verb, state, f) p;
    v_id := ostinato.enqueue_job('ostinato.bulk', '{}'::json, 'ostinato', tenant_id => v_tenant, limit_key => 'bulk');
    -- One keeps its lane for as long as there are batches: a tenant must not have those of all workers. People may
    -- change it.
    insert into queue (name, key_concurrency) values ('ostinato', 2) on conflict do nothing;
    insert into bulk (id, created_at, cursor, matching, capped, canary, tenant_id, verb, states, filter, key_id, actor,
                      actor_type, reason)
    values (v_id, ostinato.now(), null, v_found.matching, v_found.capped, coalesce(canary, false), f.tenant_id, verb,
            v_states, ostinato_internal.stored_filter(f),
            case when v_user is not null then nullif(current_setting('app.key_id', true), '')::bigint end,
            ostinato_internal.actor(),
            case when v_user is not null then 'user' when v_said is not null then 'operator' else 'login' end,
            coalesce(reason, nullif(current_setting('app.reason', true), '')));
    return v_id;
end
$$;

-- Starts a bulk action of the tenant, who may write none of the tables that this takes: on its own jobs only.
create function ostinato_internal.own_start_bulk(
    verb text, state text, f ostinato_data.job_filter, canary boolean, reason text
) returns bigint language plpgsql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    if coalesce(f.tenant_id, ostinato_internal.own_tenant()) <> ostinato_internal.own_tenant()
       or ostinato_internal.own_tenant() = '' then
        raise exception using errcode = 'OS400',
            message = format('tenant %L starts nothing for tenant %L', ostinato_internal.own_tenant(), f.tenant_id),
            detail = json_build_object('tenant_id', f.tenant_id), hint = 'Leave tenant_id out.';
    end if;
    f.tenant_id := ostinato_internal.own_tenant();
    return ostinato_internal.start_bulk(verb, state, f, canary, reason);
end
$$;

-- Does the next batch of a bulk action. Only its own job calls it. `waiting`: a canary waits for jobs that run again.
create function ostinato.run_bulk(
    bulk_id bigint, out state text, out waiting boolean, out done bigint, out refused bigint, out matching bigint,
    out capped boolean
) language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    b        ostinato_data.bulk;
    v_filter ostinato_data.job_filter;
    v_state  text;
    v_page   record;
begin
    select k.* into b from bulk k where k.id = run_bulk.bulk_id for update;
    if not found then
        perform ostinato_internal.refuse_unknown_bulk(run_bulk.bulk_id);
    end if;
    if b.state = 'running' and cardinality(b.watched) > 0 then
        b := ostinato_internal.watch_canary(b);
    end if;
    if b.state = 'running' and cardinality(b.watched) = 0 then
        v_filter := ostinato_internal.job_filter_of(b.filter);
        v_state := b.states[b.place];
        select s.ids, s.next into v_page from ostinato_internal.search_jobs(
            v_state, v_filter,
            coalesce(b.cursor, case when v_state = 'dead' then 0 else b.id end),
            case when b.canary and b.stage < 2 then (10 ^ b.stage)::integer else ostinato_internal.bulk_batch() end,
            v_state = 'dead', b.id) s;
        b := ostinato_internal.apply_bulk(b, v_page.ids);
        b.cursor := v_page.next;
        if b.cursor is null then
            b.place := b.place + 1;
        end if;
        if b.place > cardinality(b.states) and cardinality(b.watched) = 0 then
            b.state := 'done';
        end if;
    end if;
    update bulk k set place = b.place, stage = b.stage, cursor = b.cursor, done = b.done, refused = b.refused,
                      failed = b.failed, state = b.state, note = b.note, watched = b.watched, attempts = b.attempts,
                      finished_at = case when b.state <> 'running' then coalesce(k.finished_at, ostinato.now()) end
    where k.id = b.id;
    select b.state, b.state = 'running' and cardinality(b.watched) > 0, b.done, b.refused, b.matching, b.capped
    into state, waiting, done, refused, matching, capped;
end
$$;

-- Looks after the jobs of a canary: as soon as one failed again it halts; once all have run, the next stage comes.
create function ostinato_internal.watch_canary(b ostinato_data.bulk) returns ostinato_data.bulk language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_failed bigint;
    v_ended  bigint;
    v_note   text;
begin
    select count(*) filter (where o.bad), count(*), min(o.error) filter (where o.bad) into v_failed, v_ended, v_note
    from unnest(b.watched, b.attempts) w (job_id, attempt) cross join lateral (
        select bool_or(h.outcome in ('failed', 'dead', 'lost')) as bad,
               min(ostinato_internal.error_summary(h.error)) filter (where h.outcome in ('failed', 'dead', 'lost'))
                   as error
        from outcome h where h.job_id = w.job_id and h.attempt >= w.attempt having count(*) > 0) o;
    if v_failed > 0 then
        b.state := 'halted';
        b.failed := v_failed;
        b.note := v_note;
    elsif v_ended = cardinality(b.watched) then
        b.watched := '{}';
        b.attempts := '{}';
        b.stage := b.stage + 1;
        if b.place > cardinality(b.states) then
            b.state := 'done';
        end if;
    end if;
    return b;
end
$$;

-- Does the verb of a bulk action to a batch of jobs, notes those that are refused, and records it.
create function ostinato_internal.apply_bulk(b ostinato_data.bulk, ids bigint[]) returns ostinato_data.bulk
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_why      constant text := left(coalesce(b.reason, 'cancelled by a bulk action'),
                                         ostinato_internal.longest_name());
    v_attempts integer[];
    v_done     bigint[];
begin
    if cardinality(ids) = 0 then
        return b;
    end if;
    ids := array(select i from unnest(ids) i order by i);
    select array_agg(d.attempt + 1 order by d.job_id) into v_attempts from dead_letter d
    where b.canary and d.job_id = any (ids);
    v_done := case b.verb
        when 'cancel' then ostinato_internal.cancelled_jobs(ids, v_why)
        when 'discard' then ostinato_internal.discarded_jobs(ids, v_why)
        when 'redrive' then ostinato_internal.redriven_jobs(ids)
        else ostinato_internal.retried_jobs(ids) end;
    insert into bulk_refusal (bulk_id, job_id, tenant_id, reason)
    select b.id, r.id, b.tenant_id, ostinato_internal.refusal_of(b.verb, r.id)
    from (select i as id from unnest(ids) i where not i = any (v_done)
          order by 1 limit greatest(0, ostinato_internal.refusal_cap() - b.refused)) r
    on conflict do nothing;
    b.done := b.done + cardinality(v_done);
    b.refused := b.refused + cardinality(ids) - cardinality(v_done);
    if b.canary and b.stage < 2 then
        select coalesce(array_agg(i.id order by i.id), '{}'), coalesce(array_agg(i.attempt order by i.id), '{}')
        into b.watched, b.attempts
        from unnest(ids, v_attempts) i (id, attempt) where i.id = any (v_done);
    end if;
    perform ostinato_internal.record_bulk(b.id, v_done) where cardinality(v_done) > 0;
    return b;
end
$$;

-- Returns why a job was not changed.
create function ostinato_internal.refusal_of(verb text, job_id bigint) returns text language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select case
        when exists (select from scheduled s where s.job_id = j.id and s.reason = 'behind')
            then 'it waits behind another of its key'
        when $1 in ('retry', 'redrive') and u.job_id <> j.id
            then format('its unique key %L is held by job %s', j.unique_key, u.job_id)
        else format('it is %s by now', ostinato.job_state(j.id)) end
    from job j left join job_unique u on (u.tenant_id, u.unique_key) = (j.tenant_id, j.unique_key) where j.id = $2
$$;

-- Cancels jobs: those that wait at once, those that run by a request. Returns those that it met.
create function ostinato_internal.cancelled_jobs(ids bigint[], reason text) returns bigint[] language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_gone bigint[];
    v_held bigint[];
begin
    perform ostinato_internal.lock_lanes(ids);
    with ended as (
        insert into outcome (job_id, attempt, finished_at, outcome, error)
        select w.job_id, w.attempt, ostinato.now(), 'cancelled', json_build_object('reason', reason)
        from ostinato_internal.take_waiting(ids) w returning outcome.job_id
    )
    select coalesce(array_agg(e.job_id), '{}') into v_gone from ended e;
    perform ostinato_internal.free_unique_keys(v_gone, 'cancelled'), ostinato_internal.forget_run(v_gone, v_gone),
            ostinato_internal.end_deliveries(v_gone), ostinato_internal.count_children(v_gone, 'cancelled');
    v_held := array(select h.job_id from ostinato_internal.held_jobs(ids) h where not h.job_id = any (v_gone));
    insert into cancel_request (job_id, requested_at, reason)
    select h, ostinato.now(), cancelled_jobs.reason from unnest(v_held) h on conflict do nothing;
    return v_gone || v_held;
end
$$;

-- Gives dead letters up: they are cancelled. Returns those that were there.
create function ostinato_internal.discarded_jobs(ids bigint[], reason text) returns bigint[] language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_gone bigint[];
begin
    perform ostinato_internal.lock_lanes(ids);
    with gone as (
        delete from dead_letter d where d.job_id = any (ids) returning d.job_id, d.attempt
    ), ended as (
        insert into outcome (job_id, attempt, finished_at, outcome, error)
        select g.job_id, g.attempt + 1, ostinato.now(), 'cancelled', json_build_object('reason', reason) from gone g
        returning outcome.job_id
    )
    select coalesce(array_agg(e.job_id), '{}') into v_gone from ended e;
    perform ostinato_internal.free_unique_keys(v_gone, 'cancelled'), ostinato_internal.forget_run(v_gone, v_gone),
            ostinato_internal.end_deliveries(v_gone), ostinato_internal.count_children(v_gone, 'dead', -1),
            ostinato_internal.count_children(v_gone, 'cancelled');
    return v_gone;
end
$$;

-- Runs dead letters again. Returns those that do.
create function ostinato_internal.redriven_jobs(ids bigint[]) returns bigint[] language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_dead constant bigint[] := array(select d.job_id from dead_letter d where d.job_id = any (ids));
begin
    perform ostinato_internal.redrive_jobs(null, null, null, null, v_dead, null, false);
    return array(select i from unnest(v_dead) i
                 except select d.job_id from dead_letter d where d.job_id = any (v_dead));
end
$$;

-- Runs jobs now that wait for their time, lie dead, or were cancelled. Returns those that do.
create function ostinato_internal.retried_jobs(ids bigint[]) returns bigint[] language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_done bigint[];
    v_id   bigint;
begin
    v_done := array(select h.job_id from ostinato_internal.hastened_jobs(ids) h)
              || ostinato_internal.redriven_jobs(ids);
    for v_id in
        select i from unnest(ids) i where not i = any (v_done) and ostinato.job_state(i) = 'cancelled'
    loop
        begin
            perform ostinato_internal.retry_job(v_id);
            v_done := v_done || v_id;
        exception when sqlstate 'OS411' or sqlstate 'OS409' or sqlstate 'OS412' then
            null;  -- it is listed among the refused
        end;
    end loop;
    return v_done;
end
$$;

-- Records a batch by the actor who started the bulk action. With the rights of the owner: workers, who run it, write no
-- entries of their own.
create function ostinato_internal.record_bulk(bulk_id bigint, job_ids bigint[]) returns void
language sql security definer set search_path = ostinato_data, pg_catalog, pg_temp as $$
    insert into audit_entry (id, at, count, key_id, tenant_id, verb, noun, target, actor, actor_type, login, program,
                             correlation_id, reason, job_ids, filter, detail)
    select ostinato_internal.first_id(ostinato_internal.real_clock()) + nextval('audit_id_seq'),
           ostinato_internal.real_clock(), cardinality($2), b.key_id, b.tenant_id, b.verb, 'job', null, b.actor,
           b.actor_type, session_user, '', null, b.reason, $2,
           ostinato_internal.public_filter(ostinato_internal.job_filter_of(b.filter)), json_build_object('bulk', b.id)
    from bulk b where b.id = $1
$$;

-- Stops a bulk action after the batch that is on. Returns the state it was in.
create function ostinato.stop_bulk(bulk_id bigint) returns text language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_state constant text := case when ostinato_internal.sees_all() then ostinato_internal.stop_bulk(bulk_id, null)
        else ostinato_internal.own_stop_bulk(bulk_id) end;
begin
    perform ostinato_internal.record('stop', 'bulk', bulk_id::text,
                                     count => case when v_state = 'running' then 1 else 0 end,
                                     detail => json_build_object('was', v_state));
    return v_state;
end
$$;

-- Stops a bulk action, of a tenant or of any (null).
create function ostinato_internal.stop_bulk(bulk_id bigint, of_tenant text) returns text language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_state text;
begin
    select b.state into v_state from bulk b
    where b.id = stop_bulk.bulk_id and (of_tenant is null or b.tenant_id = of_tenant) for update;
    if not found then
        perform ostinato_internal.refuse_unknown_bulk(stop_bulk.bulk_id);
    end if;
    update bulk b set state = 'stopped', finished_at = ostinato.now()
    where b.id = stop_bulk.bulk_id and b.state = 'running';
    return v_state;
end
$$;

-- Stops a bulk action of the tenant.
create function ostinato_internal.own_stop_bulk(bulk_id bigint) returns text language sql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select ostinato_internal.stop_bulk($1, ostinato_internal.own_tenant())
$$;

-- Says that there is no such bulk action.
create function ostinato_internal.refuse_unknown_bulk(bulk_id bigint) returns void language plpgsql as $$
begin
    raise exception using errcode = 'OS404', message = format('there is no bulk action %s', bulk_id),
        detail = json_build_object('bulk_id', bulk_id),
        hint = 'Check the id; bulk actions leave the history after the retention time.';
end
$$;

-- Lists bulk actions, newest first: those before an id, or one (`bulk_id`). One whose job was cancelled or died is
-- stopped.
create function ostinato.list_bulks(bulk_id bigint default null, before bigint default null, most integer default 50)
returns setof ostinato_data.bulk_line language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select b.id, b.verb,
           case when b.state = 'running' and ostinato.job_state(b.id) in ('cancelled', 'dead') then 'stopped'
                else b.state end,
           b.tenant_id, b.filter, b.matching, b.capped, b.done, b.refused, b.failed, b.canary, b.stage,
           cardinality(b.watched)::bigint, b.actor, b.reason, b.note, b.created_at, b.finished_at
    from bulk b where ($1 is null or b.id = $1) and ($2 is null or b.id < $2)
    order by b.id desc limit ostinato_internal.page_size($3)
$$;

-- Returns the jobs that a bulk action left as they are, and why: a page by id.
create function ostinato.list_bulk_refusals(bulk_id bigint, after bigint default 0, most integer default 100)
returns table (job_id bigint, reason text) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select r.job_id, r.reason from bulk_refusal r where r.bulk_id = $1 and r.job_id > $2
    order by r.job_id limit ostinato_internal.page_size($3)
$$;
