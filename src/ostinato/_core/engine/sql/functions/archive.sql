-- Archive: weeks that are past retention are written to files before upkeep drops them, and so are late rows before
-- they are gone for good. `ostinato archive run` writes the files (engine/archive.py); here is what is due, what is
-- done, and the check that upkeep asks.
--
--   require_archive(place)                    from now on nothing is dropped that is not archived; null: no longer
--   due_for_archive(retention_days, …)        the weeks that upkeep would drop, and what is archived of each
--   record_archive(name, file, …)             a file is where it belongs
--   take_late() / finish_late(name)           the next late rows, the same ones until they are finished
--   list_archive()
--
-- The order is what makes it safe: the file is whole and stored, then it is recorded, then the week may be dropped. A
-- week that got rows after it was archived has another number of rows than the record, and is archived again: rows of
-- these tables are only ever added. Lock order: that of upkeep.sql; nothing here locks.

-- Sets that nothing is dropped before it is archived, and where to (null: no longer).
create function ostinato.require_archive(place text) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    delete from archive_rule;
    insert into archive_rule (place, since)
    select require_archive.place, ostinato.now() where require_archive.place is not null;
    perform ostinato_internal.record('require', 'archive', coalesce(require_archive.place, 'none'));
end
$$;

-- Returns where weeks are archived to before they are dropped; no row: they are not.
create function ostinato.show_archive_rule() returns table (place text, since timestamptz) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select r.place, r.since from archive_rule r
$$;

-- Returns the weeks that are past retention: the partition, the columns of its key, and how many rows of it are
-- archived (null: none). Samples of metrics are not archived.
create function ostinato.due_for_archive(retention_days integer, audit_days integer default null)
returns table (name text, keys text[], archived bigint) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select c.relname::text,
           (select array_agg(a.attname::text order by k.n) from pg_index i
            cross join lateral unnest(i.indkey::smallint[]) with ordinality k (num, n)
            join pg_attribute a on a.attrelid = c.oid and a.attnum = k.num where i.indrelid = c.oid and i.indisprimary),
           r.rows
    from (values ('job', ostinato.now() - make_interval(days => $1)), ('outcome', null), ('step', null),
                 ('event', null), ('event_log', null), ('webhook_attempt', null), ('schedule_fire', null),
                 ('transition', least(ostinato.now() - make_interval(days => $1),
                                      ostinato.now() - interval '400 days')),
                 ('audit_entry', coalesce(ostinato.now() - make_interval(days => $2), '2026-01-01 00:00:00+00'))
         ) p (name, cutoff)
    cross join lateral ostinato_internal.log_weeks(p.name) w
    join pg_class c on c.relnamespace = 'ostinato_data'::regnamespace
                   and c.relname = ostinato_internal.week_name(p.name, w)
    left join archive r on r.name = c.relname and r.archived_at is not null
    where ostinato_internal.week_id(w + 1)
          <= ostinato_internal.first_id(coalesce(p.cutoff, ostinato.now() - make_interval(days => $1)))
    order by 1
$$;

-- Records that a week is archived.
create function ostinato.record_archive(
    name text, rows bigint, bytes bigint, sha256 text, file text, place text
) returns void language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    insert into archive (name, archived_at, rows, bytes, sha256, file, place)
    values ($1, ostinato.now(), $2, $3, $4, $5, $6)
    on conflict (name) do update set archived_at = excluded.archived_at, rows = excluded.rows,
        bytes = excluded.bytes, sha256 = excluded.sha256, file = excluded.file, place = excluded.place
$$;

-- Returns the late rows to archive next, a hundred thousand at most: those that were begun before, if there are some.
create function ostinato.take_late(most integer default 100000) returns table (name text, first bigint, last bigint)
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    if not exists (select from archive a where a.archived_at is null) then
        insert into archive (name, first, last)
        select format('late_%s_%s', min(l.id), max(l.id)), min(l.id), max(l.id)
        from (select l.id from archive_late l order by l.id limit most) l having count(*) > 0;
    end if;
    return query select a.name, a.first, a.last from archive a where a.archived_at is null;
end
$$;

-- Records that late rows are archived, and deletes them.
create function ostinato.finish_late(
    name text, rows bigint, bytes bigint, sha256 text, file text, place text
) returns void language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    delete from archive_late l using archive a where a.name = $1 and l.id between a.first and a.last;
    update archive a set archived_at = ostinato.now(), rows = $2, bytes = $3, sha256 = $4, file = $5, place = $6
    where a.name = $1
$$;

-- Returns what was archived, by name.
create function ostinato.list_archive(after text default '', most integer default 1000)
returns table (name text, rows bigint, bytes bigint, sha256 text, file text, place text, archived_at timestamptz)
language sql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select a.name, a.rows, a.bytes, a.sha256, a.file, a.place, a.archived_at from archive a
    where a.archived_at is not null and a.name > $1 collate "C" order by a.name limit $2
$$;

-- Returns whether a partition may be dropped: nobody asked for an archive, or all its rows are in one. It counts them,
-- so it is asked before strong locks, once nothing more is added.
create function ostinato_internal.is_archived(name text) returns boolean language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_rows     bigint;
    v_archived constant bigint := (select a.rows from archive a
                                   where a.name = is_archived.name and a.archived_at is not null);
begin
    if not exists (select from archive_rule) or is_archived.name like 'metric\_sample\_%' then
        return true;
    elsif v_archived is null then
        return false;
    end if;
    execute format('select count(*) from ostinato_data.%I', is_archived.name) into v_rows;
    return v_rows = v_archived;
end
$$;

-- Keeps rows of finished jobs that are about to be deleted one by one, if an archive is asked for.
create function ostinato_internal.keep_late(job_ids bigint[]) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    if exists (select from archive_rule) then
        insert into archive_late (source, line)
        select 'job', row_to_json(j)::text from job_default j where j.id = any (job_ids)
        union all select 'outcome', row_to_json(o)::text from outcome_default o where o.job_id = any (job_ids)
        union all select 'step', row_to_json(s)::text from step_default s where s.job_id = any (job_ids);
    end if;
end
$$;
