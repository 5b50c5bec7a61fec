-- Machines: which states the rows of an application's table may be in, and what leads from one to the next.
--
-- The tables that obey a machine belong to applications, in schemas of their own; `machine_table` says which ones, and
-- triggers on them ask for a pass at every change of state. The log is written by those triggers and by nothing else.

create table ostinato_data.machine (
    name          text        collate "C" primary key,
    initial       text        collate "C" not null,
    states        text[]      collate "C" not null,
    definition    json        not null,
    installed_at  timestamptz not null
);

create table ostinato_data.machine_transition (
    machine     text collate "C" not null,
    event       text collate "C" not null,
    from_state  text collate "C" not null,
    to_state    text collate "C" not null,
    guard       text not null,
    primary key (machine, event, from_state)
);

-- The tables that obey a machine, as "schema.table", and the columns that matter.
create table ostinato_data.machine_table (
    entity         text        collate "C" not null,
    machine        text        collate "C" not null,
    id_column      text        not null,
    id_type        text        not null,
    state_column   text        not null,
    state_type     text        not null,
    tenant_column  text,
    attached_at    timestamptz not null,
    primary key (entity, machine)
);

-- What the running transition may do: a row is there from its first line to its last, seen by its own transaction only.
-- It never needs to survive a crash.
create sequence ostinato_data.transition_pass_seq as bigint;
create unlogged table ostinato_data.transition_pass (
    xid             xid8    not null,
    id              bigint  not null,
    relation        oid     not null,
    entity          text    collate "C" not null,
    machine         text    collate "C" not null,
    event           text    collate "C" not null,
    actor           text    not null,
    why             text,
    correlation_id  text    collate "C",
    job_id          bigint,
    attempt         integer,
    primary key (xid, id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- The log: every change of state, in order. Append-only, in weekly partitions by id (logs.sql).
create table ostinato_data.transition (
    id              bigint      not null,
    at              timestamptz not null,
    job_id          bigint,
    attempt         integer,
    tenant_id       text        collate "C" not null,
    entity          text        collate "C" not null,
    entity_id       text        collate "C" not null,
    machine         text        collate "C" not null,
    event           text        collate "C" not null,
    from_state      text        collate "C" not null,
    to_state        text        collate "C" not null,
    actor           text        not null,
    correlation_id  text        collate "C",
    why             text,
    primary key (id)
) partition by range (id);
create table ostinato_data.transition_default partition of ostinato_data.transition default;
create index transition_entity on ostinato_data.transition (entity, entity_id, id);
create index transition_correlation on ostinato_data.transition (correlation_id) where correlation_id is not null;

select ostinato_data.protect('machine'), ostinato_data.protect('machine_transition'), ostinato_data.protect('machine_table'),
       ostinato_data.protect('transition_pass'), ostinato_data.protect('transition', tenants => true),
       ostinato_data.protect('transition_default');
-- Machines are changed by whoever migrates; passes and the log are written by functions that run as the owner. The log can
-- be added to and, week by week, dropped: nobody updates it or deletes from it.
revoke insert, update, delete on ostinato_data.machine, ostinato_data.machine_transition, ostinato_data.machine_table,
    ostinato_data.transition, ostinato_data.transition_default from ostinato_worker;
revoke all on ostinato_data.transition_pass from ostinato_worker;
create function ostinato_data.refuse_rewrite() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
    -- Who may disable this trigger anyway need not be stopped by it.
    if not (select r.rolsuper from pg_roles r where r.rolname = current_user) then
        raise exception using errcode = 'insufficient_privilege', message = format('%s is added to, never changed', tg_table_name),
            hint = 'What is past its time is dropped week by week, by upkeep.';
    end if;
    return null;
end
$$;
revoke execute on function ostinato_data.refuse_rewrite from public;
create trigger refuse_rewrite before update or delete or truncate on ostinato_data.transition
    for each statement execute function ostinato_data.refuse_rewrite();
create policy machines on ostinato_data.machine for select to ostinato_tenant using (true);
create policy machines on ostinato_data.machine_transition for select to ostinato_tenant using (true);
create policy machines on ostinato_data.machine_table for select to ostinato_tenant using (true);
grant select on ostinato_data.machine, ostinato_data.machine_transition, ostinato_data.machine_table, ostinato_data.transition
    to ostinato_tenant;
