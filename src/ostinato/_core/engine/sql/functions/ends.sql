-- Ends: a caller waits until a job has ended, and is woken when it has.
--
-- The caller writes down that it waits (watch_job), and listens to `ostinato_ends`. Every verb that ends jobs calls
-- ring_ends, most of them by forget_run (claims.sql): it rings for those that are written down and takes them off the
-- list; where nobody waits it costs one look at an empty table. A ring can be missed (a verb that had looked before the
-- row was committed), so callers also ask again now and then: a ring only makes it faster.

-- Returns how a job ended, or no row while it has not; then the caller is rung when it has, for some seconds.
create function ostinato.watch_job(job_id bigint, seconds double precision default 60)
returns table (state text, result json, error json) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_tenant text := (select j.tenant_id from job j where j.id = watch_job.job_id);
    v_until  constant timestamptz := ostinato.now() + make_interval(secs => seconds);
    v_state  text := ostinato.job_state(watch_job.job_id);
begin
    if v_tenant is null then
        raise exception 'there is no job %', job_id using errcode = 'OS404',
            detail = json_build_object('job_id', job_id);
    end if;
    if v_state in ('done', 'dead', 'cancelled') then
        return query select v_state, o.result, o.error from outcome o where o.job_id = watch_job.job_id
                     order by o.attempt desc limit 1;
        return;
    end if;
    -- Not written for every question: only when it would end soon.
    insert into job_watch as w (tenant_id, job_id, until) values (v_tenant, watch_job.job_id, v_until)
    on conflict (tenant_id, job_id) do update set until = excluded.until
    where w.until < v_until - make_interval(secs => seconds / 2);
end
$$;

-- Rings for jobs that have ended, if somebody waits for them.
create function ostinato_internal.ring_ends(job_ids bigint[]) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_rung integer;
begin
    if exists (select from job_watch) then
        with gone as (
            delete from job_watch w where w.job_id = any (job_ids) returning w.job_id
        )
        select count(pg_notify('ostinato_ends', g.job_id::text)) into v_rung from gone g;
    end if;
end
$$;
