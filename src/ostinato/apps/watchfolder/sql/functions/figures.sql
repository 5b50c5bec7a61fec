-- What alerts and metrics look at, over the folders of all tenants. A label is "tenant/folder".

-- Returns the seconds since an active folder was last watched; since it was made, for one that never was.
create function watchfolder.folder_silence() returns table (label text, value double precision) language sql stable
set search_path = watchfolder, pg_catalog, pg_temp as $$
    select f.tenant_id || '/' || f.name,
           extract(epoch from ostinato.now() - coalesce(f.ticked_at, f.created_at))::double precision
    from folder f where f.active
$$;

-- Lists active folders whose last tick named a problem: a service that is away, a full disk, a file that cannot be
-- read.
create function watchfolder.folder_problems() returns table (label text, value double precision) language sql stable
set search_path = watchfolder, pg_catalog, pg_temp as $$
    select f.tenant_id || '/' || f.name, 1::double precision
    from folder f where f.active and f.problem is not null
$$;

-- Returns the share of jobs that failed, of those that ended within the period, for folders in which at least five
-- ended.
create function watchfolder.failure_rates(period interval)
returns table (label text, value double precision) language sql stable
set search_path = watchfolder, pg_catalog, pg_temp as $$
    select f.tenant_id || '/' || f.name,
           count(*) filter (where j.state = 'ERROR') / count(*)::double precision
    from job j join folder f on f.tenant_id = j.tenant_id and f.id = j.folder_id
    where j.state in ('DONE', 'ERROR') and j.changed_at > ostinato.now() - period
    group by 1
    having count(*) >= 5
$$;

-- Days for which the oldest twin of a folder has waited for a decision.
create function watchfolder.days_held() returns table (label text, value double precision) language sql stable
set search_path = watchfolder, pg_catalog, pg_temp as $$
    select f.tenant_id || '/' || f.name,
           extract(epoch from ostinato.now() - min(d.detected_at))::double precision / 86400
    from duplicate d join folder f on f.tenant_id = d.tenant_id and f.id = d.folder_id
    where d.state = 'DUPLICATE_PENDING' and f.active
    group by 1
$$;

-- Returns how the folders of all tenants stand, for Prometheus. Runs as the owner, because the API sees no tenant's
-- rows.
create function watchfolder.observe_folders() returns table (
    folders bigint, silence double precision, troubled bigint, waiting bigint, blocked bigint, held bigint, pages bigint
) language sql stable security definer
set search_path = watchfolder, pg_catalog, pg_temp set row_security = on as $$
    select count(*) filter (where f.active),
           coalesce(max(extract(epoch from ostinato.now() - coalesce(f.ticked_at, f.created_at)))
                    filter (where f.active), 0)::double precision,
           count(*) filter (where f.active and f.problem is not null),
           coalesce(sum((f.metrics ->> 'waiting')::bigint) filter (where f.active), 0)::bigint,
           coalesce(sum((f.metrics ->> 'blocked')::bigint) filter (where f.active), 0)::bigint,
           (select count(*) from duplicate d join folder h on h.tenant_id = d.tenant_id and h.id = d.folder_id
            where d.state = 'DUPLICATE_PENDING' and h.removed_at is null),
           (select coalesce(sum(j.pages), 0)::bigint from job j
            where j.state = 'DONE' and j.changed_at > ostinato.now() - interval '1 hour')
    from folder f
    where f.removed_at is null
$$;

-- Counts their jobs that are on their way, and those that ended in the last hour, by state.
create function watchfolder.observe_jobs() returns table (state text, jobs bigint) language sql stable security definer
set search_path = watchfolder, pg_catalog, pg_temp set row_security = on as $$
    select j.state, count(*) from job j
    where j.state not in ('DONE', 'ERROR') or j.changed_at > ostinato.now() - interval '1 hour'
    group by j.state
    order by j.state
$$;
