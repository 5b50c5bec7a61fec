-- Cells: a tenant lives in one of several databases, each with its own workers. This file is one cell's side of it: who
-- has left for which cell, who is on its way, and the fence that keeps two cells from serving one tenant
-- (docs/cells.md, ADR 20). The steps of a move are taken by `ostinato tenants move`.
--
-- States of a tenant in a cell: none (it lives here, or nobody knows it)
--   in the cell that it leaves:     draining (no job of it is claimed) > closed (nothing of it begins) > leaving (it
--                                   lives elsewhere; its rows are being removed) > left (a pointer to where it is)
--   in the cell that it comes to:   coming (nothing of it begins) > here, in the transaction that loads its rows
--
-- The fence: enter_tenant, enqueue_job(s) and emit_events refuse a tenant that is closed, leaving, coming or left;
-- claims pass over it from draining on. What the engine does by itself (slots of schedules, deliveries of events) goes
-- on: it only adds jobs, which nobody claims, and which are not there or added again where the tenant is loaded.
-- A transaction that began before the fence may not have seen it: older_transactions names those that must end first.
-- One that has entered the tenant before it may go on to its end for that reason.
-- Lock order: the tenant's row here, then nothing.

-- Refuses work for a tenant that is not here. Called with what is a tenant's own to see.
create function ostinato_internal.check_here(tenant_ids text[]) returns void language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_place ostinato_data.tenant_place;
begin
    select * into v_place from tenant_place p
    where p.tenant_id = any (tenant_ids) and p.state not in ('draining', 'here')
      and p.tenant_id is distinct from current_setting('ostinato.entered', true) limit 1;
    if not found or current_setting('ostinato.by_itself', true) = 'on' then
        return;
    end if;
    raise exception using errcode = 'OS421',
        message = case when v_place.state in ('left', 'leaving')
                       then format('%s lives in the cell %s', v_place.tenant_id, v_place.cell)
                       else format('%s is being moved between cells', v_place.tenant_id) end,
        detail = json_build_object('tenant_id', v_place.tenant_id, 'retry_after', 1,
                                   'cell', case when v_place.state in ('left', 'leaving') then v_place.cell end),
        hint = 'Nothing was done. Ask again in a moment, in the cell where the tenant is.';
end
$$;

-- Returns the tenants whose jobs nobody claims, because they are on their way.
create function ostinato_internal.moving_tenants() returns text[] language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
    select array(select p.tenant_id from tenant_place p where p.state in ('draining', 'closed', 'leaving', 'coming'))
$$;

-- Adds jobs that the engine makes by itself, as enqueue_jobs does: also those of a tenant that is on its way.
create function ostinato_internal.enqueue_by_itself(
    kinds text[], args text[], queues text[], priorities integer[] default null, tenant_ids text[] default null,
    correlation_ids text[] default null, limit_keys text[] default null, max_attempts integer[] default null,
    subjects text[] default null
) returns setof bigint language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform set_config('ostinato.by_itself', 'on', true);
    return query select e from ostinato.enqueue_jobs(
        kinds, args, queues, priorities, tenant_ids => enqueue_by_itself.tenant_ids,
        correlation_ids => enqueue_by_itself.correlation_ids, limit_keys => enqueue_by_itself.limit_keys,
        max_attempts => enqueue_by_itself.max_attempts, subjects => enqueue_by_itself.subjects) e;
    perform set_config('ostinato.by_itself', '', true);
end
$$;

-- Returns the number of this cell: its ids end so (`ostinato cells init`); null: it has none.
create function ostinato.show_cell_number() returns integer language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select (s.seqstart % s.seqincrement)::integer from pg_sequence s
    where s.seqrelid = 'ostinato_data.job_id_seq'::regclass and s.seqincrement > 1
$$;

-- Returns where a tenant is, as far as this cell knows; no row: it lives here, or was never here.
create function ostinato.show_place(tenant_id text)
returns table (state text, cell text, move_id uuid, changed_at timestamptz) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select p.state, p.cell, p.move_id, p.changed_at from tenant_place p where p.tenant_id = $1
$$;

-- Returns the tenants that are not simply here, by name.
create function ostinato.list_places(after text default '', most integer default 1000)
returns table (tenant_id text, state text, cell text, move_id uuid, changed_at timestamptz) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select p.tenant_id, p.state, p.cell, p.move_id, p.changed_at from tenant_place p
    where p.tenant_id > $1 collate "C" order by p.tenant_id limit $2
$$;

-- Sets where a tenant is. `move_id` says which move is meant: what another move has set meanwhile is refused.
create function ostinato.set_place(tenant_id text, state text, cell text, move_id uuid default null) returns void
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_place ostinato_data.tenant_place;
begin
    perform ostinato_internal.check_name('tenant_id', set_place.tenant_id);
    perform ostinato_internal.check_name('cell', set_place.cell);
    select * into v_place from tenant_place p where p.tenant_id = set_place.tenant_id for update;
    if v_place.move_id <> set_place.move_id and v_place.state not in ('here', 'left') then
        raise exception using errcode = 'OS409', message = format('another move of %s is under way', v_place.tenant_id),
            detail = json_build_object('tenant_id', v_place.tenant_id, 'state', v_place.state, 'cell', v_place.cell),
            hint = 'Repeat `ostinato tenants move` with its cell; it goes on where it stopped.';
    end if;
    insert into tenant_place (tenant_id, changed_at, move_id, state, cell)
    values (set_place.tenant_id, ostinato.now(), set_place.move_id, set_place.state, set_place.cell)
    on conflict (tenant_id) do update set
        changed_at = excluded.changed_at, move_id = excluded.move_id, state = excluded.state, cell = excluded.cell;
    if set_place.state in ('draining', 'left') then  -- the beginning of a move, and its end
        perform ostinato_internal.record('place', 'tenant', set_place.tenant_id, set_place.tenant_id, detail =>
            json_build_object('state', set_place.state, 'cell', set_place.cell));
    end if;
end
$$;

-- Marks a tenant that was expected as here. In the transaction that loads it: without the row of this move, nothing is.
create function ostinato.arrive(tenant_id text, move_id uuid) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    update tenant_place p set state = 'here', changed_at = ostinato.now()
    where p.tenant_id = arrive.tenant_id and p.move_id = arrive.move_id and p.state = 'coming';
    if not found then
        raise exception using errcode = 'OS409',
            message = format('%s is not expected here: its move was given up', arrive.tenant_id),
            detail = json_build_object('tenant_id', arrive.tenant_id), hint = 'Begin again: ostinato tenants move';
    end if;
end
$$;

-- Gives a move up on one side, unless it has gone too far there; returns whether its row is gone. On the side that the
-- tenant comes to first: once that is done, nothing of this move can be loaded.
create function ostinato.give_up_move(tenant_id text, move_id uuid) returns boolean language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    delete from tenant_place p
    where p.tenant_id = give_up_move.tenant_id and p.move_id = give_up_move.move_id
      and p.state in ('draining', 'closed', 'coming');
    return not exists (select from tenant_place p
                       where p.tenant_id = give_up_move.tenant_id and p.move_id = give_up_move.move_id);
end
$$;

-- Returns those of some transactions (null: all) that run in this database now, but this one: by virtual id, prepared
-- ones by their name.
create function ostinato.older_transactions(of text[] default null) returns setof text language sql volatile
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select l.virtualtransaction from pg_locks l join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'virtualxid' and l.granted and a.datname = current_database() and l.pid <> pg_backend_pid()
      and ($1 is null or l.virtualtransaction = any ($1))
    union all
    select x.gid from pg_prepared_xacts x
    where x.database = current_database() and ($1 is null or x.gid = any ($1))
$$;

-- Returns how many jobs of a tenant workers hold.
create function ostinato.count_held_jobs(tenant_id text) returns bigint language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select count(*) from claim c cross join lateral unnest(c.job_ids) h (job_id)
    join job j on j.id = h.job_id where j.tenant_id = $1
$$;

-- Returns whether a tenant has jobs, keys or endpoints here.
create function ostinato.knows_tenant(tenant_id text) returns boolean language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select exists (select from job j where j.tenant_id = $1) or exists (select from api_key k where k.tenant_id = $1)
        or exists (select from webhook_endpoint w where w.tenant_id = $1)
$$;
