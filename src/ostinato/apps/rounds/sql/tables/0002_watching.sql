-- Runs that failed as a whole are noted too, and what was mended; settings that make no sense are refused; archives stay.

-- What a run failed with, as a whole; null: it came to its end. Repairs of single groups are no runs of their own.
alter table rounds.runs add column error text, add column mended boolean not null default false;
create index failures_by_group on rounds.failures (job, group_id, at);

-- Refuses a zone that there is not, whoever writes it. What this server knows and a worker does not, is that group's trouble alone.
create function rounds.guard_zone() returns trigger language plpgsql
set search_path = rounds, pg_catalog, pg_temp as $$
begin
    perform ostinato.now() at time zone new.zone;
    return new;
exception when invalid_parameter_value then
    raise exception using errcode = 'OS400', message = format('there is no time zone %L', new.zone),
        detail = json_build_object('zone', new.zone), hint = 'Use a name of the IANA database, such as Europe/Paris or UTC.';
end
$$;
create trigger known_zone before insert or update of zone on rounds.group_settings for each row
    when (new.zone is not null) execute function rounds.guard_zone();

-- Other settings: what is scheduled must be timed anew before it opens, whoever changed them, and however. The group is held as the jobs
-- hold it: a round that is being created from the old settings is waited for, and then seen by the next statement.
create or replace function rounds.note_new_times() returns trigger language plpgsql
set search_path = rounds, pg_catalog, pg_temp as $$
begin
    perform from groups g where g.tenant_id = new.tenant_id and g.id = new.group_id for no key update;
    update daily_rounds r set stale = true
    where r.tenant_id = new.tenant_id and r.group_id = new.group_id and r.status = 'scheduled' and not r.stale;
    return null;
end
$$;

-- A round that was open stays, as everything that was said in it.
create function rounds.guard_archive() returns trigger language plpgsql
set search_path = rounds, pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'OS409', message = format('round %s cannot be removed: it is %s', old.id, old.status),
        detail = json_build_object('round_id', old.id, 'status', old.status), hint = 'Rounds that were open are kept.';
end
$$;
create trigger archive before delete on rounds.daily_rounds for each row
    when (old.status <> 'scheduled') execute function rounds.guard_archive();
