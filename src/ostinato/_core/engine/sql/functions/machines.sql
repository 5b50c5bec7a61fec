-- Machines: install, attach, transition. A row never reaches a state that it may not reach.
--
-- A machine is data: states, transitions (from, event, to) and invariants. An application's migration installs it and
-- attaches it to a table of its own; from then on triggers on that table refuse
--   an insert that does not start in the initial state,
--   a change of the state that no running transition is answerable for, even from psql, even by the table's owner,
--   a change of the id, because the log speaks of it,
--   a row of which an invariant of its state does not hold.
-- What counts as answerable: `transition` (with the rights of its caller) opens a pass, a row that only functions of
-- the owner can write, updates the table, and closes the pass. The trigger finds the pass of its own transaction, asks
-- the machine whether the event leads from the old state to the new one, and writes the log. So the log holds what
-- happened, no more and no less; no setting can stand in for a pass; and a pass that is opened by hand allows no more
-- than the machine lists.
--
-- Lock order: the claim of the job or lease that fences (if one is given), the rows of the table in the order of their
-- ids.
-- What may go wrong: two at once (the second waits for the row, then finds the state that the first left, and is
-- refused if its event does not fit any more), a late worker (refused by the fence, before anything is read), a row of
-- another tenant (not found, by the table's own policies).

-- Returns what is wrong with the declaration of a machine, one sentence each.
create function ostinato_internal.machine_faults(definition json) returns setof text language sql immutable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off as $$
    with recursive state as (
        select s.name, s.n from json_array_elements_text($1 -> 'states') with ordinality s (name, n)
    ), listed as (
        select t ->> 'from' as source, t ->> 'event' as event, t ->> 'to' as target
        from json_array_elements($1 -> 'transitions') t
    ), terminal as (
        select t.name from json_array_elements_text($1 -> 'terminal') t (name)
    ), checked as (
        select r -> 'states' as states, t ->> 'column' as column_name, t ->> 'is' as operator, t ->> 'value' as value
        from json_array_elements($1 -> 'invariants') r left join lateral json_array_elements(r -> 'checks') t on true
    ), named (place, name) as (
        select 'initial', $1 ->> 'initial'
        union select 'terminal', t.name from terminal t
        union select 'a transition', l.source from listed l
        union select 'a transition', l.target from listed l
        union select 'an invariant', s.name from checked c
        cross join lateral json_array_elements_text(c.states) s (name)
    ), reached (name) as (
        select $1 ->> 'initial' union select l.target from reached r join listed l on l.source = r.name
    )
    select 'its name must be lower-case letters, digits and underscores, at most 40'
    where coalesce($1 ->> 'name', '') !~ '^[a-z][a-z0-9_]{0,39}$'
    union all select 'it has no states' where not exists (select from state)
    union all select format('state %L is listed twice', s.name) from state s group by s.name having count(*) > 1
    union all select format('%L cannot be the name of a state or event', w.name)
        from (select s.name from state s union select l.event from listed l) w
        where coalesce(w.name, '') !~ '^[A-Za-z][A-Za-z0-9_-]{0,62}$'
    union all select format('%s names %L, which is not one of its states', n.place, n.name)
        from named n where not exists (select from state s where s.name = n.name)
    union all select format('event %L is listed twice for state %L', l.event, l.source) from listed l
    group by l.source, l.event having count(*) > 1
    union all select format('state %L is terminal, but a transition leads out of it', t.name)
        from terminal t where exists (select from listed l where l.source = t.name)
    union all select format('nothing leads out of state %L, and it is not terminal', s.name)
        from state s where not exists (select from listed l where l.source = s.name)
          and not exists (select from terminal t where t.name = s.name)
    union all select format('state %L cannot be reached', s.name) from state s
    where not exists (select from reached r where r.name = s.name)
    union all select format('an invariant checks %L with %L and value %L', t.column_name, t.operator, t.value)
    from checked t
        where t.column_name is null or t.operator is null
          or t.operator not in ('filled', 'empty', '=', '<>', '<', '<=', '>', '>=')
           or (t.operator in ('filled', 'empty')) <> (t.value is null)
$$;

-- Installs a machine, or what is new of it, and brings the tables that obey it up to date. Returns whether anything
-- changed.
create function ostinato.install_machine(definition json) returns boolean language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_name   constant text := definition ->> 'name';
    v_faults constant text[] := array(select ostinato_internal.machine_faults(definition));
begin
    if v_faults <> '{}' or v_name is null then
        raise exception using errcode = 'OS400',
            message = format('machine %L: %s', v_name, array_to_string(v_faults, '; ')),
            detail = json_build_object('machine', v_name, 'faults', v_faults),
            hint = 'Correct the declaration of the machine.';
    end if;
    if exists (select from machine m
               where m.name = v_name and m.definition::jsonb = install_machine.definition::jsonb) then
        return false;
    end if;
    insert into machine as m (name, initial, states, definition, installed_at)
    values (v_name, install_machine.definition ->> 'initial',
            array(select json_array_elements_text(install_machine.definition -> 'states')), install_machine.definition,
            ostinato.now())
    on conflict (name) do update set initial = excluded.initial, states = excluded.states,
        definition = excluded.definition, installed_at = excluded.installed_at;
    delete from machine_transition t where t.machine = v_name;
    insert into machine_transition (machine, event, from_state, to_state, guard)
    select v_name, t ->> 'event', t ->> 'from', t ->> 'to', coalesce(t ->> 'guard', '')
    from json_array_elements(install_machine.definition -> 'transitions') t;
    perform ostinato.attach_machine(m.machine, m.entity, m.id_column, m.state_column, m.tenant_column)
    from machine_table m where m.machine = v_name and ostinato_internal.relation_of(m.entity) is not null;
    return true;
end
$$;

-- Returns the table of an entity ("schema.table"), null when there is none. Asks the catalogue, so it needs no right to
-- the schema.
create function ostinato_internal.relation_of(entity text) returns oid language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where format('%I.%I', n.nspname, c.relname) = $1 and c.relkind in ('r', 'p')
      and n.nspname = (parse_ident($1, false))[1] and c.relname = (parse_ident($1, false))[2]
$$;

-- Returns the type of a table's column; raises OS400 when there is no such column.
create function ostinato_internal.column_type(entity text, name text) returns text language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_type text;
begin
    select format_type(a.atttypid, -1) into v_type from pg_attribute a  -- without a length: a cast must not cut an id
    where a.attrelid = ostinato_internal.relation_of(entity) and a.attname = column_type.name and a.attnum > 0
      and not a.attisdropped;
    if not found then
        raise exception using errcode = 'OS400', message = format('%s has no column %L', entity, name),
            detail = json_build_object('entity', entity, 'column', name), hint = 'Name a column of the table.';
    end if;
    return v_type;
end
$$;

-- Makes a table obey a machine: its triggers are made, or made anew. For migrations; the caller owns the table. Rows
-- that are there already must be in states of the machine, and its invariants must hold of them.
create function ostinato.attach_machine(
    machine text, entity text, id_column text default 'id', state_column text default 'state',
    tenant_column text default null
) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_machine  record;
    v_guard    text;
    v_rule     json;
    v_n        integer := 0;
    v_arguments constant text := format('%L, %L, %L, %L', machine, entity, id_column, state_column);
begin
    select m.* into v_machine from machine m where m.name = attach_machine.machine;
    if not found or ostinato_internal.relation_of(entity) is null then
        raise exception using errcode = 'OS404',
            message = format('there is no machine %L, or no table %L', machine, entity),
            detail = json_build_object('machine', machine, 'entity', entity),
            hint = 'Install the machine first, make the table, and name it as "schema.table".';
    end if;
    v_guard := ostinato_internal.make_guard(machine, entity, id_column, state_column, tenant_column, current_user);
    perform ostinato_internal.drop_triggers(machine, entity),
            ostinato_internal.check_rows(entity,
                                         format('t.%I::text = any (%L::text[])', state_column, v_machine.states),
                                         'its state is one of the machine''s');
    execute format('create trigger %I after insert on %s for each row when (new.%I::text is distinct from %L) execute '
                   'function ostinato_internal.refuse_row(''initial'', %s, %L)', machine || '_initial', entity,
                   state_column, v_machine.initial, v_arguments, v_machine.initial);
    execute format('create trigger %I after update on %s for each row when (old.%I is distinct from new.%I) execute '
                   'function ostinato_internal.refuse_row(''id'', %s)', machine || '_id', entity, id_column, id_column,
                   v_arguments);
    execute format('create trigger %I after update on %s for each row when (old.%I is distinct from new.%I) execute '
                   'function ostinato_data.%I()', machine || '_guard', entity, state_column, state_column, v_guard);
    -- A transition to the same state changes nothing, and is logged all the same.
    execute format('create trigger %I after update of %I on %s for each row when (old.%I is not distinct from new.%I) '
                   'execute function ostinato_data.%I()', machine || '_again', state_column, entity, state_column,
                   state_column, v_guard);
    for v_rule in select r from json_array_elements(v_machine.definition -> 'invariants') r loop
        v_n := v_n + 1;
        perform ostinato_internal.column_type(entity, t ->> 'column') from json_array_elements(v_rule -> 'checks') t;
        perform ostinato_internal.check_rows(entity, ostinato_internal.rule_condition(v_rule, 't', state_column),
                                             v_rule ->> 'text');
        execute format('create trigger %I after insert or update on %s for each row when (not %s) execute function '
                       'ostinato_internal.refuse_row(''rule'', %s, %L)', format('%s_rule_%s', machine, v_n), entity,
                       ostinato_internal.rule_condition(v_rule, 'new', state_column), v_arguments,
                       coalesce(v_rule ->> 'text', ''));
    end loop;
end
$$;

-- Drops the triggers that a machine has on a table.
create function ostinato_internal.drop_triggers(machine text, entity text) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_name name;
begin
    for v_name in
        select t.tgname from pg_trigger t
        where t.tgrelid = ostinato_internal.relation_of(entity) and not t.tgisinternal and t.tgparentid = 0
          and t.tgname ~ ('^' || machine || '_(initial|id|guard|again|rule_\d+)$')
    loop
        execute format('drop trigger %I on %s', v_name, entity);
    end loop;
end
$$;

-- Refuses to attach a machine to rows that it would refuse.
create function ostinato_internal.check_rows(entity text, condition text, rule text) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_count bigint;
begin
    execute format('select count(*) from %s t where (%s) is not true', entity, condition) into v_count;
    if v_count > 0 then
        raise exception using errcode = 'OS409',
            message = format('of %s rows of %s it is not true that %s', v_count, entity, rule),
            detail = json_build_object('entity', entity, 'rows', v_count, 'rule', rule),
            hint = 'Fix the rows in the same migration, before the machine is attached.';
    end if;
end
$$;

-- Returns an invariant as a condition on a row that goes by a name: made of quoted names, quoted values and a fixed set
-- of operators.
create function ostinato_internal.rule_condition(rule json, row_name text, state_column text) returns text
language sql immutable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select format('(%I.%I::text <> all (%L::text[]) or (%s) is true)', row_name, state_column,
                  array(select json_array_elements_text(rule -> 'states')),
                  string_agg(case t.checked ->> 'is'
                      when 'filled' then format('(%I.%I is not null and %I.%I::text <> '''')', row_name, t.name,
                                                row_name, t.name)
                      when 'empty' then format('(%I.%I is null or %I.%I::text = '''')', row_name, t.name, row_name,
                                               t.name)
                      else format('(%I.%I %s %L)', row_name, t.name, o.operator, t.checked ->> 'value') end,
                      case when (rule ->> 'any')::boolean then ' or ' else ' and ' end order by t.n))
    from (select e.checked, e.n, e.checked ->> 'column' as name from json_array_elements(rule -> 'checks')
          with ordinality e (checked, n)) t
    left join unnest('{=,<>,<,<=,>,>=}'::text[]) o (operator) on o.operator = t.checked ->> 'is'
$$;

-- Makes the trigger function of a table, owned by the engine's owner, and writes down that the table obeys the machine.
-- It names the columns as they are, so that a change of state costs no look at the whole row. Returns the function's
-- name.
create function ostinato_internal.make_guard(
    machine text, entity text, id_column text, state_column text, tenant_column text, attached_by text
) returns text language plpgsql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_guard constant text := format('guard_%s_%s', left(machine, 40),
                                    to_hex(hashtextextended(machine || ' ' || entity, 0)));
    v_tenant constant text := case when tenant_column is null then 'null'
        else format('new.%I::text', tenant_column) end;
    v_body   constant text := format(
        'begin perform ostinato_internal.note_transition(%L, %L, tg_relid, new.%I::text, %s, old.%I::text, '
        'new.%I::text); '
        'return null; end', machine, entity, id_column, v_tenant, state_column, state_column);
begin
    if tenant_column is not null then
        perform ostinato_internal.column_type(entity, tenant_column);
    end if;
    insert into machine_table as t (entity, machine, id_column, id_type, state_column, state_type, tenant_column,
                                    attached_at)
    values (make_guard.entity, make_guard.machine, make_guard.id_column,
            ostinato_internal.column_type(make_guard.entity, make_guard.id_column), make_guard.state_column,
            ostinato_internal.column_type(make_guard.entity, make_guard.state_column), make_guard.tenant_column,
            ostinato.now())
    on conflict (entity, machine) do update set id_column = excluded.id_column, id_type = excluded.id_type,
        state_column = excluded.state_column, state_type = excluded.state_type, tenant_column = excluded.tenant_column,
        attached_at = excluded.attached_at;
    execute format(
        'create or replace function ostinato_data.%I() returns trigger language plpgsql security definer'
        ' set search_path = ostinato_data, pg_catalog, pg_temp as %L', v_guard, v_body);
    execute format('revoke execute on function ostinato_data.%I() from public', v_guard);
    execute format('grant execute on function ostinato_data.%I() to %I', v_guard, attached_by);
    return v_guard;
end
$$;

-- Writes a change of state into the log, or refuses it. Only the trigger functions of `make_guard` may call it.
create function ostinato_internal.note_transition(
    machine text, entity text, relation oid, entity_id text, tenant_id text, from_state text, to_state text
) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := ostinato.now();
begin
    -- One statement, because it runs for every row of a set: the newest pass, if it lists this change. The table is
    -- compared too: somebody may have put the trigger function on one of his own.
    insert into transition (id, at, job_id, attempt, tenant_id, entity, entity_id, machine, event, from_state,
                            to_state, actor, correlation_id, why)
    select ostinato.new_id(v_now), v_now, p.job_id, p.attempt, ostinato.tenant(note_transition.tenant_id),
           note_transition.entity, note_transition.entity_id, note_transition.machine, p.event,
           note_transition.from_state, note_transition.to_state, p.actor,
           coalesce(p.correlation_ids ->> note_transition.entity_id, p.correlation_id), p.why
    from (select w.* from transition_pass w
          where w.xid = pg_current_xact_id() and w.entity = note_transition.entity
            and w.machine = note_transition.machine
          order by w.id desc limit 1) p
    where p.relation = coalesce(pg_partition_root(note_transition.relation), note_transition.relation)
      and exists (select from machine_transition t
                  where t.machine = note_transition.machine and t.event = p.event
                    and t.from_state = note_transition.from_state and t.to_state = note_transition.to_state);
    if not found and from_state is distinct from to_state then
        raise exception using errcode = 'OS424',
            message = format('the state of %s %s cannot be written: %s to %s', entity, entity_id, from_state,
                             coalesce(to_state, 'null')),
            detail = json_build_object('machine', machine, 'entity', entity, 'id', entity_id, 'state', from_state,
                                       'to', to_state, 'allowed', ostinato.allowed_events(machine, from_state)),
            hint = format('States change by ostinato.transition() only. %s',
                          ostinato_internal.allowed_words(machine, from_state));
    end if;
end
$$;

-- Refuses a row, as the trigger that calls it says: it does not start in the initial state, its id changed, or a rule
-- of its state does not hold.
create function ostinato_internal.refuse_row() returns trigger language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_id    constant text := to_jsonb(new) ->> tg_argv[3];
    v_state constant text := to_jsonb(new) ->> tg_argv[4];
    v_detail constant jsonb := jsonb_build_object('machine', tg_argv[1], 'entity', tg_argv[2], 'id', v_id,
                                                  'state', v_state);
begin
    if tg_argv[0] = 'initial' then
        raise exception using errcode = 'OS424',
            message = format('%s %s cannot start in state %s', tg_argv[2], v_id, coalesce(v_state, 'null')),
            detail = v_detail || jsonb_build_object('initial', tg_argv[5]),
            hint = format('Insert it in state %s; ostinato.transition() leads on from there.', tg_argv[5]);
    elsif tg_argv[0] = 'id' then
        raise exception using errcode = 'OS424', message = format('the id of %s cannot become %s', tg_argv[2], v_id),
            detail = v_detail, hint = 'The log of its transitions speaks of the id: insert another row.';
    end if;
    raise exception using errcode = 'OS425',
        message = format('%s %s in state %s needs: %s', tg_argv[2], v_id, v_state, tg_argv[5]),
        detail = v_detail || jsonb_build_object('rule', tg_argv[5]),
        hint = 'Set the columns together with the state: transition(…, changes => ''{"column": value}'').';
end
$$;

-- Returns the events that are allowed in a state, each with the state that it leads to.
create function ostinato.allowed_events(machine text, state text) returns json language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select coalesce(json_object_agg(t.event, t.to_state order by t.event), '{}') from machine_transition t
    where t.machine = $1 and t.from_state = $2
$$;

-- Returns the events that are allowed in a state as a sentence, for hints.
create function ostinato_internal.allowed_words(machine text, state text) returns text language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select case count(*) when 0 then format('Nothing leads out of %s.', coalesce($2, 'null'))
           else format('From %s: %s.', $2, string_agg(format('%s to %s', t.event, t.to_state), ', '
                                                      order by t.event)) end
    from machine_transition t where t.machine = $1 and t.from_state = $2
$$;

-- Applies an event to one row and returns its new state; raises OS424 when the machine does not list it in the
-- row's state, OS404 when there is no such row. `changes` are columns to be set together with the state. With `job_id`
-- and `attempt`, or `lease` and `token`, a worker that has lost its job or lease is refused (OS410). `tenant_id` is for
-- tables in which several tenants may have rows of the same id.
create function ostinato.transition(
    machine text, entity text, id text, event text, by text default null, why text default null,
    correlation_id text default null, changes json default null, tenant_id text default null,
    job_id bigint default null, attempt integer default null, lease text default null, token bigint default null,
    lease_tenant text default null
) returns text language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    return (select t.to_state
            from ostinato.transition_all($1, $2, array[$3], $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) t);
end
$$;

-- Lets an event happen to many rows at once, all or none; returns them with their old and new states. With `skip` those
-- that are not there, or in whose state the machine does not list it, are left as they are. `changes` are an object for
-- all of them, or an array of one for each, which holds the row's id too. `correlation_ids` has one for each of `ids`,
-- where they are parts of several requests; where it is null, `correlation_id` counts.
create function ostinato.transition_all(
    machine text, entity text, ids text[], event text, by text default null, why text default null,
    correlation_id text default null, changes json default null, tenant_id text default null,
    job_id bigint default null, attempt integer default null, lease text default null, token bigint default null,
    lease_tenant text default null, skip boolean default false, correlation_ids text[] default null
) returns table (id text, from_state text, to_state text) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_table machine_table;
    v_whose text;
    v_ids   text[];
    v_from  text[];
    v_to    text[];
    v_pass  bigint;
    v_count bigint;
begin
    v_table := ostinato_internal.find_machine_table(machine, entity, transition_all.tenant_id);
    if transition_all.job_id is not null then
        perform ostinato.fence_job(transition_all.job_id, transition_all.attempt);
    end if;
    if transition_all.lease is not null then
        perform ostinato.guard_lease(transition_all.lease, transition_all.token, transition_all.lease_tenant);
    end if;
    v_whose := case when transition_all.tenant_id is not null then format(' and t.%I::text = $5', v_table.tenant_column)
        else '' end;
    -- Short texts: they are planned anew at every call, and a join here would cost more than all the rest.
    execute format(
        'select array_agg(l.key::text), array_agg(l.state)'
        ' from (select t.%1$I as key, t.%2$I::text as state from %3$s t'
        ' where t.%1$I = any ($1::text[]::%4$s[])%5$s order by t.%1$I for no key update) l',
        v_table.id_column, v_table.state_column, v_table.entity, v_table.id_type, v_whose)
    into v_ids, v_from using ids, null, null, null, transition_all.tenant_id;
    select array_agg(f.id order by f.n), array_agg(f.state order by f.n), array_agg(m.to_state order by f.n)
    into v_ids, v_from, v_to
    from unnest(v_ids, v_from) with ordinality f (id, state, n)
    left join machine_transition m on m.machine = transition_all.machine and m.event = transition_all.event
      and m.from_state = f.state
    where m.to_state is not null or not skip;
    perform ostinato_internal.check_transitions(v_table, ids, event, skip, v_ids, v_from, v_to);
    if v_ids is null then
        return;
    end if;
    v_pass := ostinato.open_pass(machine, entity, event, by, why, transition_all.correlation_id, transition_all.job_id,
                                 transition_all.attempt,
                                 ostinato_internal.correlations_of(v_table, ids, transition_all.correlation_ids));
    execute ostinato_internal.transition_text(v_table, changes, v_to[1] = all (v_to), v_whose)
    using v_ids, v_to, changes, null, transition_all.tenant_id;
    get diagnostics v_count = row_count;
    perform ostinato.close_pass(v_pass);
    if v_count <> cardinality(v_ids) then
        raise exception using errcode = 'OS409',
            message = format('%s of %s rows of %s were not changed', cardinality(v_ids) - v_count, cardinality(v_ids),
                             entity),
            detail = json_build_object('entity', entity, 'rows', cardinality(v_ids), 'changed', v_count),
            hint = 'A policy or another trigger of the table kept the update from them.';
    end if;
    return query select * from unnest(v_ids, v_from, v_to);
end
$$;

-- Returns the table that obeys a machine; refuses another one, and a tenant where the table has no column for it.
create function ostinato_internal.find_machine_table(machine text, entity text, tenant_id text)
returns ostinato_data.machine_table language plpgsql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_table machine_table;
begin
    select t.* into v_table from machine_table t
    where t.entity = find_machine_table.entity and t.machine = find_machine_table.machine;
    if not found then
        raise exception using errcode = 'OS404',
            message = format('%L does not obey a machine %L', find_machine_table.entity, find_machine_table.machine),
            detail = json_build_object('machine', find_machine_table.machine, 'entity', find_machine_table.entity),
            hint = 'Name the table as "schema.table"; a migration attaches it with ostinato.attach_machine().';
    end if;
    if find_machine_table.tenant_id is not null and v_table.tenant_column is null then
        raise exception using errcode = 'OS400',
            message = format('%s has no column for a tenant', find_machine_table.entity),
            detail = json_build_object('entity', find_machine_table.entity, 'tenant_id', find_machine_table.tenant_id),
            hint = 'Attach the machine with tenant_column, or leave tenant_id out.';
    end if;
    return v_table;
end
$$;

-- Refuses a transition of rows some of which are not there, there twice, or in a state in which the machine does not
-- list the event. With `skip` those that cannot be are left out already.
create function ostinato_internal.check_transitions(
    target ostinato_data.machine_table, ids text[], event text, skip boolean, found_ids text[], from_states text[],
    to_states text[]
) returns void language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_missing text;
    v_bad     constant integer := array_position(to_states, null);
    v_state   constant text := from_states[v_bad];
begin
    if cardinality(ids) < cardinality(found_ids) then
        raise exception using errcode = 'OS409',
            message = format('%s rows of %s have %s ids', cardinality(found_ids), target.entity, cardinality(ids)),
            detail = json_build_object('entity', target.entity),
            hint = 'Several tenants have them: say whose, with tenant_id.';
    elsif not skip and cardinality(ids) <> coalesce(cardinality(found_ids), 0) then
        execute format('select coalesce(min(i::text), ''null'') from unnest($1::text[]::%s[]) i where i is null or '
                       'i::text <> all ($2) having count(*) > 0', target.id_type)
        into v_missing using ids, coalesce(found_ids, '{}');
        if v_missing is not null then
            raise exception using errcode = 'OS404', message = format('there is no %s %s', target.entity, v_missing),
                detail = json_build_object('machine', target.machine, 'entity', target.entity, 'id', v_missing),
                hint = 'Check the id, and whose it is.';
        end if;
    end if;
    if v_bad is not null then
        raise exception using errcode = 'OS424',
            message = format('%s %s is %s: %s is not possible', target.entity, found_ids[v_bad], v_state, event),
            detail = json_build_object('machine', target.machine, 'entity', target.entity, 'id', found_ids[v_bad],
                                       'state', v_state, 'event', event, 'allowed',
                                       ostinato.allowed_events(target.machine, v_state)),
            hint = ostinato_internal.allowed_words(target.machine, v_state);
    end if;
end
$$;

-- Returns the update of a transition: ids in $1, their states in $2, `changes` in $3, read once for all rows or for
-- each once.
create function ostinato_internal.transition_text(
    target ostinato_data.machine_table, changes json, is_one_state boolean, whose text
) returns text language sql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select format('update %1$s t set %2$I = %3$s%4$s%5$s where t.%6$I = any ($1::%7$s[])%8$s%9$s%10$s',
        target.entity, target.state_column,
        case when is_one_state then '($2)[1]::' else 'u.state::' end || target.state_type,
        ostinato_internal.changed_columns(target, changes),
        ' from ' || nullif(concat_ws(', ',
            format(case json_typeof(changes) when 'object' then 'json_populate_record(null::%s, $3) c'
                   when 'array' then 'json_populate_recordset(null::%s, $3) c' end, target.entity),
            case when not is_one_state then format('unnest($1::%s[], $2) u (id, state)', target.id_type) end), ''),
        target.id_column, target.id_type, whose,
        case when json_typeof(changes) = 'array' then format(' and t.%1$I = c.%1$I', target.id_column) end,
        case when not is_one_state then format(' and t.%I = u.id', target.id_column) end)
$$;

-- Returns the assignments of the columns that a transition changes beside the state: quoted names, values from `c`.
create function ostinato_internal.changed_columns(target ostinato_data.machine_table, changes json) returns text
language plpgsql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_each constant boolean := json_typeof(changes) = 'array';
    v_keys text[];
    v_odd  text;
    v_list text;
begin
    if (not v_each and json_typeof(changes) <> 'object')
       or (v_each and exists (select from json_array_elements(changes) e where json_typeof(e) <> 'object')) then
        raise exception using errcode = 'OS400',
            message = format('changes must be a JSON object, got %s', json_typeof(changes)),
            detail = json_build_object('got', json_typeof(changes)),
            hint = 'Name columns and their values: {"sent_at": "2026-03-02T09:00:00Z"}. For many rows there may be an '
                   'array of such objects, one for each, with its id.';
    end if;
    select array_agg(distinct k) into v_keys
    from json_array_elements(case when v_each then changes else json_build_array(changes) end) e,
        json_object_keys(case when json_typeof(e) = 'object' then e end) k
    where not v_each or k <> target.id_column;
    select min(k) filter (where k in (target.state_column, target.id_column)) into v_odd from unnest(v_keys) k;
    if v_odd is not null then
        raise exception using errcode = 'OS400', message = format('changes may not hold %L', v_odd),
            detail = json_build_object('entity', target.entity, 'column', v_odd),
            hint = 'The event decides the state, and the id stays.';
    end if;
    select min(k) filter (where a.attname is null), string_agg(format(', %1$I = c.%1$I', k), '' order by k)
    into v_odd, v_list
    from unnest(v_keys) k
    left join pg_attribute a on a.attrelid = ostinato_internal.relation_of(target.entity) and a.attname = k
      and a.attnum > 0 and not a.attisdropped;
    if v_odd is not null then
        perform ostinato_internal.column_type(target.entity, v_odd);  -- which refuses it
    end if;
    return coalesce(v_list, '');
end
$$;

-- Returns which request each row is a part of, by its id as the log writes it; null: one is named for all.
create function ostinato_internal.correlations_of(
    target ostinato_data.machine_table, ids text[], correlation_ids text[]
) returns jsonb language plpgsql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_found jsonb;
begin
    if correlation_ids is null then
        return null;
    end if;
    if cardinality(correlation_ids) <> cardinality(ids) then
        raise exception using errcode = 'OS400',
            message = format('%s rows have %s correlation ids', cardinality(ids), cardinality(correlation_ids)),
            detail = json_build_object('rows', cardinality(ids), 'correlation_ids', cardinality(correlation_ids)),
            hint = 'Name one for each row, in their order, or correlation_id for all.';
    end if;
    perform ostinato_internal.check_options(correlation_id => c) from (select distinct unnest(correlation_ids) as c) d
    where c is not null;
    execute format('select jsonb_object_agg(i::%s::text, c) from unnest($1, $2) w (i, c) where i is not null '
                   'and c is not null', target.id_type)
    into v_found using ids, correlation_ids;
    return v_found;
end
$$;

-- Opens the pass of a transition that begins: from now until it is closed, this transaction may let the event happen to
-- rows of the table. Returns its id.
create function ostinato.open_pass(
    machine text, entity text, event text, by text, why text, correlation_id text, job_id bigint, attempt integer,
    correlation_ids jsonb default null
) returns bigint language plpgsql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_id constant bigint := nextval('transition_pass_seq');
    v_by constant text := coalesce(by, session_user);
    v_part_of constant text := ostinato.correlation(correlation_id);
begin
    perform ostinato_internal.check_name('by', v_by), ostinato_internal.check_options(correlation_id => v_part_of);
    if octet_length(why) > ostinato_internal.most_note_bytes() then
        raise exception using errcode = 'OS400',
            message = format('why is %s bytes, the limit is %s', octet_length(why),
                             ostinato_internal.most_note_bytes()),
            detail = json_build_object('bytes', octet_length(why), 'limit', ostinato_internal.most_note_bytes()),
            hint = 'Say it in a sentence; keep documents elsewhere.';
    end if;
    insert into transition_pass (xid, id, relation, entity, machine, event, actor, why, correlation_id, job_id, attempt,
                                 correlation_ids)
    values (pg_current_xact_id(), v_id, ostinato_internal.relation_of(open_pass.entity), open_pass.entity,
            open_pass.machine, open_pass.event, v_by, open_pass.why, v_part_of, open_pass.job_id, open_pass.attempt,
            open_pass.correlation_ids);
    return v_id;
end
$$;

-- Closes the pass of a transition that ends.
create function ostinato.close_pass(pass_id bigint) returns void language sql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    delete from transition_pass p where p.xid = pg_current_xact_id() and p.id = $1
$$;

-- Returns the log of one row, or of a whole table (id null): newest first. `before` is the last id of the page before
-- it.
create function ostinato.list_transitions(
    entity text, entity_id text default null, tenant_id text default null, before bigint default null,
    most integer default 50
) returns table (
    id bigint, at timestamptz, machine text, entity text, entity_id text, tenant_id text, event text, from_state text,
    to_state text, actor text, why text, correlation_id text, job_id bigint, attempt integer
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select t.id, t.at, t.machine, t.entity, t.entity_id, t.tenant_id, t.event, t.from_state, t.to_state, t.actor, t.why,
           t.correlation_id, t.job_id, t.attempt
    from transition t
    where t.entity = $1 and ($2 is null or t.entity_id = $2) and ($3 is null or t.tenant_id = $3)
      and ($4 is null or t.id < $4)
    order by t.id desc limit least(greatest($5, 1), ostinato_internal.most_rows())
$$;

-- Deletes the passes of transactions that ended without closing them; for upkeep. Returns how many.
create function ostinato_internal.prune_passes() returns bigint language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    with gone as (
        delete from transition_pass p where p.xid < pg_snapshot_xmin(pg_current_snapshot()) returning 1
    )
    select count(*) from gone
$$;

-- Returns the tables that do not obey their machine: the table is gone, or one of its triggers is missing or disabled.
-- The owner of a table can do that, and nothing else would show it.
create function ostinato.machine_gaps() returns table (entity text, machine text, problem text) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select t.entity, t.machine, case when ostinato_internal.relation_of(t.entity) is null then 'the table is gone'
                                     when g.oid is null then format('its trigger %s is missing', w.name)
                                     else format('its trigger %s is disabled', w.name) end
    from machine_table t join machine m on m.name = t.machine
    cross join lateral (
        select t.machine || '_' || n as name from unnest('{initial,id,guard,again}'::text[]) n
        union all
        select format('%s_rule_%s', t.machine, n)
        from generate_series(1, json_array_length(m.definition -> 'invariants')) n
    ) w
    left join pg_trigger g on g.tgrelid = ostinato_internal.relation_of(t.entity) and g.tgname = w.name
    where g.oid is null or g.tgenabled not in ('O', 'A')
    order by 1, 2, 3
$$;
