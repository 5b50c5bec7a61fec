-- How many rows stand in each state of a machine, for people who look. Nothing counts a history: a table of up to
-- 10,000 rows that the caller may see is counted whole; of a larger one, states that an index leads to are counted
-- up to 1,000, and the others have what was found among the first 10,000 rows. What may be more is said to be.

-- Returns whether an index of a table leads to the rows of a state: by its column first, or after the tenant.
create function ostinato_internal.leads_to_state(entity text, state_column text, tenant_column text) returns boolean
language sql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select exists (
        select from pg_index i
        join pg_attribute first on first.attrelid = i.indrelid and first.attnum = i.indkey[0]
        left join pg_attribute second on second.attrelid = i.indrelid and second.attnum = i.indkey[1]
        where i.indrelid = ostinato_internal.relation_of($1) and i.indpred is null and i.indisvalid
          and (first.attname = $2 or first.attname = $3 and second.attname = $2))
$$;

-- Returns the rows in each state of a machine, by the tables that obey it: how many, and whether there may be more. A
-- table that the caller may not read is left out.
create function ostinato.count_states(machine text, most integer default 1000, sample integer default 10000)
returns table (entity text, state text, count bigint, capped boolean) language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
    v_table  record;
    v_found  jsonb;
    v_all    bigint;
    v_state  text;
    v_count  bigint;
    v_leads  boolean;
begin
    for v_table in
        select t.entity, t.state_column, t.tenant_column, m.states
        from machine_table t join machine m on m.name = t.machine
        where t.machine = count_states.machine
          and has_table_privilege(ostinato_internal.relation_of(t.entity)::oid, 'select')
        order by t.entity
    loop
        execute format('select coalesce(jsonb_object_agg(g.state, g.n), ''{}''), coalesce(sum(g.n), 0) from ('
                       'select s.state, count(*) as n from (select t.%I::text as state from %s t limit %s) s'
                       ' group by s.state) g', v_table.state_column, v_table.entity,
                       least(greatest(sample, 1), ostinato_internal.place_cap()) + 1) into v_found, v_all;
        v_leads := v_all > sample
            and ostinato_internal.leads_to_state(v_table.entity, v_table.state_column, v_table.tenant_column);
        foreach v_state in array v_table.states loop
            v_count := coalesce((v_found ->> v_state)::bigint, 0);
            if v_leads and v_count < most then
                execute format('select count(*) from (select from %s t where t.%I = %L limit %s) s', v_table.entity,
                               v_table.state_column, v_state, least(greatest(most, 1), ostinato_internal.place_cap()))
                into v_count;
                return query select v_table.entity, v_state, v_count, v_count >= most;
            else
                return query select v_table.entity, v_state, v_count, v_all > sample;
            end if;
        end loop;
    end loop;
end
$$;
