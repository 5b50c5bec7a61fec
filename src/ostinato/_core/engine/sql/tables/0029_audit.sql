-- The audit: what operators did (functions/audit.sql). A log that only grows: nobody has the right to change or delete a
-- row, and a trigger refuses it to the owner too; upkeep drops whole weeks past their retention. An entry without a
-- tenant concerns the whole installation, and no tenant sees it.
-- Of its own: entries take no ids from jobs.
create sequence ostinato_data.audit_id_seq as bigint minvalue 0 maxvalue 9999999999 start 1 cycle;
create table ostinato_data.audit_entry (
    id              bigint      not null,
    at              timestamptz not null,
    count           bigint      not null,
    key_id          bigint,
    tenant_id       text        collate "C",
    verb            text        collate "C" not null,
    noun            text        collate "C" not null,
    target          text        collate "C",
    actor           text        collate "C" not null,
    actor_type      text        collate "C" not null check (actor_type in ('user', 'operator', 'login')),
    login           text        not null,
    program         text        not null,
    correlation_id  text        collate "C",
    reason          text,
    job_ids         bigint[],
    filter          json,
    detail          json,
    primary key (id)
) partition by range (id);
create table ostinato_data.audit_entry_default partition of ostinato_data.audit_entry default;
create index audit_entry_tenant on ostinato_data.audit_entry (tenant_id, id);
create index audit_entry_correlation on ostinato_data.audit_entry (correlation_id) where correlation_id is not null;
create index audit_entry_jobs on ostinato_data.audit_entry using gin (job_ids) where job_ids is not null;

select ostinato_data.protect('audit_entry', tenants => true), ostinato_data.protect('audit_entry_default');
revoke update, delete on ostinato_data.audit_entry, ostinato_data.audit_entry_default from ostinato_worker;
revoke insert on ostinato_data.audit_entry, ostinato_data.audit_entry_default from ostinato_worker;
grant select on ostinato_data.audit_entry to ostinato_tenant;
revoke update, truncate on ostinato_data.audit_entry, ostinato_data.audit_entry_default from ostinato_owner;

-- Whoever writes an entry chooses neither its time nor its login: both are those of the server.
create function ostinato_data.stamp_audit() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
    new.at := clock_timestamp();
    new.login := session_user;
    new.program := left(current_setting('application_name'), 200);
    return new;
end
$$;
-- Refuses to change what was recorded, to the owner too. Upkeep alone moves rows of the default partition into their
-- week; a superuser, whom no trigger binds, may delete.
create function ostinato_data.keep_audit() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
    if tg_op = 'DELETE' and (current_setting('ostinato.upkeep', true) = 'on'
                             or (select r.rolsuper from pg_roles r where r.rolname = current_user)) then
        return old;
    end if;
    raise exception using errcode = 'OS412', message = 'the audit only grows: no entry is changed or deleted',
        detail = json_build_object('operation', lower(tg_op)),
        hint = 'Entries go with their week, by the setting audit_retention_days.';
end
$$;
revoke execute on function ostinato_data.stamp_audit, ostinato_data.keep_audit from public;
create trigger stamp before insert on ostinato_data.audit_entry for each row execute function ostinato_data.stamp_audit();
create trigger keep before update or delete on ostinato_data.audit_entry
    for each row execute function ostinato_data.keep_audit();
create trigger keep_all before truncate on ostinato_data.audit_entry
    for each statement execute function ostinato_data.keep_audit();
create trigger keep_all before truncate on ostinato_data.audit_entry_default
    for each statement execute function ostinato_data.keep_audit();

-- An entry as people see it.
create type ostinato_data.audit_line as (
    id bigint, at timestamptz, actor text, actor_type text, key_id bigint, verb text, noun text, target text,
    count bigint, reason text, tenant_id text, correlation_id text, login text, program text, job_ids bigint[],
    filter json, detail json
);
