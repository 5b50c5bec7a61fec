-- Runs again what ended PARTIAL or FAILED, many companies at once: those whose time has come, or those that an operator
-- names by status and error. Companies that a job is at are left out, so that nothing is run twice. As the owner,
-- because a company and who waited for it are those of all tenants.

-- Adds a job for each company that matches every filter (null = any), at most `most`, those whose time came first.
-- Requests that waited for the run that ended wait for the new one.
create function enrichment.rerun_companies(
    statuses text[], errors text[], tenant text, due boolean, trigger text, most integer,
    out companies integer, out more boolean
) language plpgsql security definer
-- Planned for what is asked: what is due is found by its time, all else among the few that did not end well.
set search_path = enrichment, pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
    v_now    constant timestamptz := ostinato.now();
    v_sirens text[];
    v_before bigint[];
    v_jobs   bigint[];
    v_asked  request[];
begin
    select array_agg(f.siren), array_agg(f.last_job_id), array_agg(f.asked) into v_sirens, v_before, v_asked
    from (
        select c.siren, c.last_job_id, q.asked from company c
        cross join lateral (
            select r as asked from request r
            where r.company_siren = c.siren and (rerun_companies.tenant is null or r.tenant_id = rerun_companies.tenant)
            order by r.created_at desc limit 1
        ) q
        where c.enrichment_status in ('PARTIAL', 'FAILED') and c.enrichment_status = any (statuses) and c.job_id is null
          and (errors is null or exists (
              select from string_to_table(c.enrichment_error, '|') e where split_part(e, ':', 3) = any (errors)))
          and (not due or c.rerun_at <= v_now)
        order by c.rerun_at, c.siren limit most + 1
        for no key update of c skip locked
    ) f;
    more := coalesce(cardinality(v_sirens) > most, false);
    v_sirens := v_sirens[:most];
    companies := coalesce(cardinality(v_sirens), 0);
    if companies = 0 then
        return;
    end if;
    v_jobs := array(select ostinato.enqueue_jobs(
        array['enrichment.enrich'],
        array(select json_build_object('siren', a.company_siren, 'request_id', a.id, 'trigger', trigger)::text
              from unnest(v_asked[:most]) with ordinality a order by a.ordinality),
        queues => array['enrichment'], priorities => array[100],
        tenant_ids => array(select a.tenant_id from unnest(v_asked[:most]) with ordinality a order by a.ordinality),
        correlation_ids => array(select a.correlation_id from unnest(v_asked[:most]) with ordinality a
                                 order by a.ordinality)));
    update company c set job_id = n.job, run_trigger = trigger, rerun_at = null
    from unnest(v_sirens, v_jobs) n (siren, job) where c.siren = n.siren;
    update request r set job_id = n.job from unnest(v_before[:most], v_jobs) n (before, job) where r.job_id = n.before;
    update request r set job_id = j.job
    from unnest(v_asked[:most]) with ordinality a join unnest(v_jobs) with ordinality j (job, ordinality)
        on j.ordinality = a.ordinality
    where (r.tenant_id, r.id) = (a.tenant_id, a.id) and r.job_id is distinct from j.job;
    -- The tenant whose job it is knows it by its id, any other by a number of its own.
    insert into attachment (job_id, tenant_id, ticket)
    select j.job, w.tenant_id, case when w.tenant_id = a.tenant_id then j.job else ostinato.new_id() end
    from unnest(v_asked[:most]) with ordinality a join unnest(v_jobs) with ordinality j (job, ordinality)
        on j.ordinality = a.ordinality
    cross join lateral (select distinct r.tenant_id from request r where r.job_id = j.job) w
    on conflict do nothing;
end
$$;

-- Runs companies again for an operator of a tenant, as rerun_companies does: those that its requests speak of.
create function enrichment.rerun_own(statuses text[], errors text[], most integer, out companies integer,
                                     out more boolean)
language sql security definer
set search_path = enrichment, pg_catalog, pg_temp as $$
    select r.companies, r.more from enrichment.rerun_companies(
        $1, $2, coalesce(nullif(current_setting('app.tenant_id', true), ''), '-'), false, 'CATCH_UP', $3) r
$$;
