-- The audit: who did what to the engine, when, to how much, and why. One entry for each action of an operator, written
-- in the transaction of the action: what rolls back leaves none, and what commits has one.
--
-- Every verb that changes something for people calls `record` once, after its work. Verbs call each other's work
-- (ostinato_internal.cancel_job, …), never each other, so that a verb for many jobs leaves one entry with a filter and
-- a count. A test lists the verbs: a new one is recorded, or said not to be an operator's.
--
-- Who acts is, in this order:
--   user      app.current_user_id, which the API and the console set with the key's id (enter_tenant, and act_as where
--             they act with the rights of their process)
--   operator  app.actor, which the command line sets: user@host, or what --as says (act_as)
--   login     the role that is logged in, for people in psql and programs that say nothing
-- `login` and the time are the server's in each case, and nobody can choose them. What a handler or the engine itself
-- does in a worker is no action of an operator: the sessions of workers record nothing, and what a handler did is in
-- the trail of its job. They are known by their login, a member of ostinato_worker, and only then by their application
-- name, which anybody may choose: the command line has the same login, and is recorded. A role that may write the
-- tables can bypass the verbs: who may log in as it is outside of what the audit proves.

-- Says who acts in the rest of the transaction, and why; null leaves what is there. `actor` is an operator of the
-- command line, `user_id` a caller of the API, with the id of the key that it used, if it used one.
create function ostinato.act_as(
    actor text default null, reason text default null, user_id text default null, key_id bigint default null
) returns void language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    if user_id is not null then
        perform ostinato_internal.check_name('user_id', user_id), set_config('app.current_user_id', user_id, true),
                set_config('app.key_id', coalesce(key_id::text, ''), true);
    end if;
    if actor is not null then
        perform ostinato_internal.check_name('actor', actor), set_config('app.actor', actor, true);
    end if;
    if reason is not null then
        perform ostinato_internal.check_reason(reason), set_config('app.reason', reason, true);
    end if;
end
$$;

-- Refuses a reason that is empty or longer than a paragraph.
create function ostinato_internal.check_reason(reason text) returns void language plpgsql immutable as $$
begin
    if length(reason) not between 1 and ostinato_internal.longest_text() then
        raise exception using errcode = 'OS400',
            message = format('a reason must be 1 to 1000 characters, got %s', length(reason)),
            detail = json_build_object('field', 'reason', 'length', length(reason)), hint = 'Say it shorter.';
    end if;
end
$$;

-- Returns who acts, as the audit names it.
create function ostinato_internal.actor() returns text language sql stable as $$
    select coalesce(nullif(pg_catalog.current_setting('app.current_user_id', true), ''),
                    nullif(pg_catalog.current_setting('app.actor', true), ''), session_user)
$$;

-- Writes down an action of an operator. Without a tenant it is that of the jobs, if they have one; a tenant's own
-- actions are always its own. It runs with the rights of the owner: nobody else writes entries, or chooses their ids.
-- At most 10,000 jobs are listed; `count` has all. `why` is the reason that the verb itself was given.
create function ostinato_internal.record(
    verb text, noun text, target text default null, tenant_id text default null, job_ids bigint[] default null,
    count bigint default 1, filter json default null, detail json default null, why text default null
) returns void language plpgsql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
    v_user constant text := nullif(current_setting('app.current_user_id', true), '');
    v_said constant text := nullif(current_setting('app.actor', true), '');
    v_own  constant text := ostinato.acting_tenant();
begin
    if current_setting('application_name') in ('ostinato/worker', 'ostinato/handler', 'ostinato/warden')
       and pg_has_role(session_user, 'ostinato_worker', 'member') then
        return;
    end if;
    if v_own = '' then
        return;  -- nobody's session sees no rows, and so changed none
    elsif v_own is not null then
        tenant_id := v_own;
    elsif tenant_id is null then
        select case when count(distinct j.tenant_id) = 1 then min(j.tenant_id) end into tenant_id
        from job j where j.id = any (job_ids);
    end if;
    insert into audit_entry (id, at, count, key_id, tenant_id, verb, noun, target, actor, actor_type, login, program,
                             correlation_id, reason, job_ids, filter, detail)
    values (ostinato_internal.first_id(ostinato_internal.real_clock()) + nextval('audit_id_seq'),
            ostinato_internal.real_clock(), coalesce(count, 0),
            case when v_user is not null then nullif(current_setting('app.key_id', true), '')::bigint end,
            tenant_id, verb, noun, target, ostinato_internal.actor(),
            case when v_user is not null then 'user' when v_said is not null then 'operator' else 'login' end,
            session_user, '', ostinato.correlation(null),
            left(coalesce(nullif(current_setting('app.reason', true), ''), why), ostinato_internal.longest_text()),
            nullif(job_ids[1:10000], '{}'), json_strip_nulls(filter), json_strip_nulls(detail));
end
$$;

-- Records an action of an operator that no verb of the engine is: of an application, for example. In the transaction
-- of the action.
create function ostinato.note_action(
    verb text, noun text, target text default null, tenant_id text default null, job_ids bigint[] default null,
    count bigint default 1, filter json default null, detail json default null
) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform ostinato_internal.check_name('verb', verb), ostinato_internal.check_name('noun', noun);
    if octet_length(concat(filter, detail)) > 16384 or length(target) > ostinato_internal.longest_text() then
        raise exception using errcode = 'OS400', message = format('the entry of %s %s is too large', verb, noun),
            detail = json_build_object('verb', verb, 'noun', noun),
            hint = 'A target has 1,000 characters at the most, filter and detail together 16 kB.';
    end if;
    perform ostinato_internal.record(verb, noun, target, tenant_id, job_ids, count, filter, detail);
end
$$;

-- Returns the ids of the newest entries before an id that match every filter (null = any). A target is a name, or the
-- id of a job (`of_job`): each has an index, and together they would have none.
create function ostinato_internal.find_audit(
    by_actor text, of_verb text, of_target text, of_job bigint, since timestamptz, of_tenant text, before bigint,
    most integer
) returns setof bigint language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
set jit = off set enable_seqscan = off as $$
begin
    if of_target is null then
        return query
        select e.id from audit_entry e
        where (by_actor is null or e.actor = by_actor) and (of_verb is null or e.verb = of_verb)
          and (find_audit.since is null or e.at >= find_audit.since) and (of_tenant is null or e.tenant_id = of_tenant)
          and (before is null or e.id < before)
        order by e.id desc limit most;
        return;
    end if;
    return query
    with about as materialized (  -- few entries are about one job: all of them, so that their index leads
        select e.id, e.actor, e.verb, e.at from audit_entry e
        where e.job_ids @> array[of_job] and (of_tenant is null or e.tenant_id = of_tenant)
    )
    (select e.id from audit_entry e
     where e.target = of_target and left(e.target, 200) = left(of_target, 200)  -- as the index has it
       and (by_actor is null or e.actor = by_actor) and (of_verb is null or e.verb = of_verb)
       and (find_audit.since is null or e.at >= find_audit.since) and (of_tenant is null or e.tenant_id = of_tenant)
       and (before is null or e.id < before)
     order by e.id desc limit most)
    union
    select a.id from about a
    where (by_actor is null or a.actor = by_actor) and (of_verb is null or a.verb = of_verb)
      and (find_audit.since is null or a.at >= find_audit.since) and (before is null or a.id < before)
    order by 1 desc limit most;
end
$$;

-- Returns the same of the tenant's entries. Under its policy the index by jobs could not lead: a policy is applied
-- before every operator that might leak a row, as those of arrays might.
create function ostinato_internal.own_found_audit(
    by_actor text, of_verb text, of_target text, of_job bigint, since timestamptz, before bigint, most integer
) returns setof bigint language sql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select ostinato_internal.find_audit($1, $2, $3, $4, $5, ostinato_internal.own_tenant(), $6, $7)
$$;

-- Returns what operators did, newest first: entries before the id `before` that match every filter (null = any). A
-- target is a name, or the id of a job. A tenant sees its own. At most 100 jobs of an entry are listed.
create function ostinato.list_audit(
    actor text default null, verb text default null, target text default null, since timestamptz default null,
    tenant_id text default null, before bigint default null, most integer default 50
) returns setof ostinato_data.audit_line language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_most constant integer := least(greatest(most, 1), 1001);
    v_job  constant bigint := substring(list_audit.target from '^\d{1,18}$')::bigint;
    v_ids  bigint[];
begin
    if ostinato_internal.sees_all() then
        v_ids := array(select ostinato_internal.find_audit(
            list_audit.actor, list_audit.verb, list_audit.target, v_job, list_audit.since, list_audit.tenant_id,
            list_audit.before, v_most));
    elsif list_audit.tenant_id is null or list_audit.tenant_id = ostinato_internal.own_tenant() then
        v_ids := array(select ostinato_internal.own_found_audit(
            list_audit.actor, list_audit.verb, list_audit.target, v_job, list_audit.since, list_audit.before, v_most));
    end if;
    return query
    select e.id, e.at, e.actor, e.actor_type, e.key_id, e.verb, e.noun, e.target, e.count, e.reason, e.tenant_id,
           e.correlation_id, e.login, e.program, e.job_ids[1:100], e.filter, e.detail
    from audit_entry e where e.id = any (v_ids) order by e.id desc;
end
$$;

-- Returns the ids of the first actions on some jobs, and of those of a correlation id.
create function ostinato_internal.find_actions(ids bigint[], of_correlation text, of_tenant text, most integer)
returns setof bigint language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off as $$
begin
    return query
    with about as materialized (  -- as in find_audit
        select e.id from audit_entry e where e.job_ids && ids and (of_tenant is null or e.tenant_id = of_tenant)
    ), part as materialized (
        select e.id from audit_entry e
        where e.correlation_id = of_correlation and (of_tenant is null or e.tenant_id = of_tenant)
    )
    select a.id from about a union select p.id from part p order by 1 limit most;
end
$$;

-- Returns the same of the tenant's entries; see own_found_audit.
create function ostinato_internal.own_found_actions(ids bigint[], correlation_id text, most integer)
returns setof bigint language sql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select ostinato_internal.find_actions($1, $2, ostinato_internal.own_tenant(), $3)
$$;

-- Returns the actions of operators on some jobs, and those of a correlation id, as lines of the trail.
create function ostinato_internal.trail_of_actions(ids bigint[], correlation_id text, most integer)
returns setof ostinato_data.trail_line language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_ids bigint[];
begin
    if ostinato_internal.sees_all() then
        v_ids := array(select ostinato_internal.find_actions(ids, trail_of_actions.correlation_id, null, most));
    else
        v_ids := array(select ostinato_internal.own_found_actions(ids, trail_of_actions.correlation_id, most));
    end if;
    return query
    select e.at, 7::smallint, 'action', e.verb || ' ' || e.noun, 'recorded', e.tenant_id,
           case when cardinality(e.job_ids) = 1 then e.job_ids[1] end, null::integer, e.id::text,
           json_build_object('by', e.actor, 'key_id', e.key_id, 'count', e.count, 'reason', e.reason,
                             'target', case when e.job_ids is null then e.target end)
    from audit_entry e where e.id = any (v_ids);
end
$$;
