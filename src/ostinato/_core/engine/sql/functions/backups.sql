-- Backups: which base backups of this server there are, and when each was verified.
--
--   record_backup(label, repository, taken_at, bytes, …)           writes one down, verified now or not
--   forget_backup(label)                                           it was pruned
--   list_backups()                                                 the newest first
--
-- The backups themselves are files of PostgreSQL in a repository (docs/backup.md). No tenant sees these rows.

-- Writes a base backup down, verified now or not; also of one that was good and is so no longer.
create function ostinato.record_backup(
    label text, repository text, taken_at timestamptz, bytes bigint, verified boolean default false,
    timeline integer default null
) returns void language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    insert into backup (label, repository, taken_at, bytes, timeline, verified_at)
    values ($1, $2, $3, $4, $6, case when $5 then ostinato.now() end)
    on conflict (label) do update set
        repository = excluded.repository, verified_at = excluded.verified_at
$$;

-- Forgets a base backup that was pruned; whether it was known.
create function ostinato.forget_backup(label text) returns boolean language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    with gone as (delete from backup b where b.label = $1 returning 1)
    select exists (select from gone)
$$;

-- Returns the base backups that are known, the newest first.
create function ostinato.list_backups(most integer default 100)
returns table (
    label text, repository text, taken_at timestamptz, bytes bigint, verified_at timestamptz, timeline integer
)
language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select b.label, b.repository, b.taken_at, b.bytes, b.verified_at, b.timeline
    from backup b order by b.taken_at desc limit $1
$$;
