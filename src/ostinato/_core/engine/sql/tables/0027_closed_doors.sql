-- What a tenant cannot choose for others: the time, the kinds that it starts, the slots that it shares.

-- The row of test_clock says that a database was made for tests: only there can the time be moved. It is added by
-- use_test_clock, to an empty database, by a superuser; workers move the time, and no more.
delete from ostinato_data.test_clock where nullif(current_setting('ostinato.clock', true), '') is null;
revoke insert, delete on ostinato_data.test_clock from ostinato_worker;

-- Whether tenants may start jobs of a kind (doors.sql); null: only workers of an older release declared it, which do not
-- say. The kinds whose jobs the engine makes were closed before.
alter table ostinato_data.kind add column open boolean;
update ostinato_data.kind k set open = false
where k.name = 'webhooks.deliver' or exists (select from ostinato_data.subscription s where s.kind = k.name);

-- A tenant that keeps schedules starts jobs by them. In a trigger, because tenants write this table themselves.
create function ostinato_data.check_schedule_door() returns trigger language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    if not has_table_privilege('ostinato_data.claim', 'select')
       and (tg_op = 'INSERT' or (new.kind, new.queue) is distinct from (old.kind, old.queue)) then
        perform ostinato.check_open_kind(new.kind, new.queue);
    end if;
    return new;
end
$$;
revoke execute on function ostinato_data.check_schedule_door from public;
create trigger door before insert or update of kind, queue on ostinato_data.schedule
    for each row execute function ostinato_data.check_schedule_door();

-- Whose the limit key of a job is: null, its tenant's; 'installation', that of all tenants (slot_key in places.sql).
-- Places and claims hold the slot key. Those that are there get theirs, so that limits go on counting what runs.
alter table ostinato_data.job add column limit_scope text collate "C";
do $$
begin
    insert into ostinato_data.rate_use (queue, limit_key, started_at, started)
    select u.queue, length(p.tenant_id) || ':' || p.tenant_id || ':' || p.limit_key, u.started_at, u.started
    from ostinato_data.rate_use u join (
        select r.queue, r.tenant_id, r.limit_key from ostinato_data.ready r where r.limit_key is not null
        union select s.queue, s.tenant_id, s.limit_key from ostinato_data.scheduled s where s.limit_key is not null
    ) p on (p.queue, p.limit_key) = (u.queue, u.limit_key);
    update ostinato_data.ready r set limit_key = length(r.tenant_id) || ':' || r.tenant_id || ':' || r.limit_key
    where r.limit_key is not null;
    update ostinato_data.scheduled s set limit_key = length(s.tenant_id) || ':' || s.tenant_id || ':' || s.limit_key
    where s.limit_key is not null;
    update ostinato_data.claim c set limit_keys = array(
        select length(j.tenant_id) || ':' || j.tenant_id || ':' || j.limit_key
        from unnest(c.job_ids) with ordinality h (job_id, n) left join ostinato_data.job j on j.id = h.job_id
        order by h.n)
    where c.limit_keys is not null;
end
$$;
