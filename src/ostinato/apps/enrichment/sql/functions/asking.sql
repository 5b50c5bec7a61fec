-- Asking for a company: is it known, is somebody at it, or does a run have to start?
--
--   open_company   makes the row that everything else refers to
--   look_at        locks the company and says: cached, attached (a job is at it), or needed
--   start_run      adds the job, in the same transaction
--
-- As the owner, because a company is shared by tenants who cannot see each other: whose request it is, is checked
-- first, and nothing about others comes back. The lock on the company makes one of those who ask at the same time the
-- first; all others join its job.

-- Makes the row of a company, unless it is there: never fresh, so that a first run that fails leaves nothing that looks
-- like data.
create function enrichment.open_company(siren text, freshness_days integer) returns void language sql security definer
set search_path = enrichment, pg_catalog, pg_temp as $$
    insert into company (siren, freshness_days) values ($1, $2) on conflict do nothing
$$;

-- Returns the company of a request of the transaction's tenant; raises OS404 for any other.
create function enrichment.siren_of(request_id uuid) returns text language plpgsql stable
set search_path = enrichment, pg_catalog, pg_temp as $$
declare
    v_siren text;
begin
    select r.company_siren into v_siren from request r
    where r.tenant_id = nullif(current_setting('app.tenant_id', true), '') and r.id = request_id;
    if not found then
        raise exception using errcode = 'OS404', message = format('there is no request %s', request_id),
            detail = json_build_object('request_id', request_id), hint = 'Check the id, and whose it is.';
    end if;
    return v_siren;
end
$$;

-- Returns whether a job is still to run, or runs.
create function enrichment.is_live(job_id bigint) returns boolean language sql stable
set search_path = enrichment, pg_catalog, pg_temp as $$
    select coalesce(ostinato.job_state($1) in ('ready', 'scheduled', 'running'), false)
$$;

-- Locks a company until the end of the transaction, and returns how it stands for a request.
-- `again`: a refresh by hand, for which being fresh is no reason. A snapshot that is past its time becomes STALE here,
-- before anything runs (M3C-cache-4).
-- `failed_for`: why the required source failed in the last run, if it did.
create function enrichment.look_at(request_id uuid, again boolean, freshness_days integer)
returns table (
    decision text, siren text, status text, refreshed_at timestamptz, at timestamptz, last_run_at timestamptz,
    failed_for text
) language plpgsql security definer
set search_path = enrichment, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_siren   constant text := enrichment.siren_of(request_id);
    v_now     constant timestamptz := ostinato.now();
    v_company company;
    v_fresh   boolean;
begin
    -- Not `for update`: a session that adds a request holds its company by the foreign key, and must not wait.
    select c.* into v_company from company c where c.siren = v_siren for no key update;
    v_fresh := v_company.updated_at > v_now - make_interval(days => look_at.freshness_days);
    siren := v_siren;
    refreshed_at := (select f.refreshed_at from refresh f
                     where f.tenant_id = nullif(current_setting('app.tenant_id', true), '')
                       and f.company_siren = v_siren);
    at := v_now;
    last_run_at := v_company.enrichment_last_run_at;
    failed_for := (select t.last_error::jsonb ->> 'error_code' from company_source_retrieval t
                   where t.company_siren = v_siren and t.source_api = 'API_RECHERCHE_ENTREPRISES'
                     and t.last_status = 'FAILED');
    if v_company.job_id is not null and enrichment.is_live(v_company.job_id) then
        decision := 'attached';
        -- Known to this tenant by a number of its own, unless it is its own job: start_run noted that.
        insert into attachment (job_id, tenant_id, ticket)
        values (v_company.job_id, nullif(current_setting('app.tenant_id', true), ''), ostinato.new_id())
          on conflict do nothing;
    elsif v_fresh and not again then
        decision := 'cached';
    else
        decision := 'needed';
        if v_company.enrichment_status in ('SUCCESS', 'PARTIAL') and not v_fresh then
            perform ostinato.transition('company_enrichment', 'enrichment.company', v_siren, 'expire', 'enrichment',
                                        'its time to live is over',
                                        changes => json_build_object('freshness_days', look_at.freshness_days));
            v_company.enrichment_status := 'STALE';
        end if;
    end if;
    status := v_company.enrichment_status;
    if decision = 'attached' then
        perform enrichment.attach_request(request_id, v_company.job_id);
    end if;
    return next;
end
$$;

-- Lets one request wait for a job; what it shows is the state of its company.
create function enrichment.attach_request(request_id uuid, job bigint) returns void language sql
set search_path = enrichment, pg_catalog, pg_temp as $$
    update request r set job_id = $2, correlation_id = coalesce(ostinato.correlation(null), r.correlation_id)
    where r.tenant_id = nullif(current_setting('app.tenant_id', true), '') and r.id = $1
$$;

-- Adds the job that enriches the company of a request; returns its id. Only after look_at said `needed`, in the same
-- transaction.
create function enrichment.start_run(request_id uuid, trigger text) returns bigint language plpgsql security definer
set search_path = enrichment, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_siren   constant text := enrichment.siren_of(request_id);
    v_company company;
    v_job     bigint;
begin
    select c.* into v_company from company c where c.siren = v_siren for no key update;
    if v_company.job_id is not null and enrichment.is_live(v_company.job_id) then
        return v_company.job_id;
    end if;
    v_job := ostinato.enqueue_job('enrichment.enrich',
                                  json_build_object('siren', v_siren, 'request_id', request_id, 'trigger', trigger),
                                  queue => 'enrichment',
                                  priority => case when trigger = 'CATCH_UP' then 100 else 0 end);
    -- Requests that waited for a job that died wait for this one now.
    update request r set job_id = v_job where r.job_id = v_company.job_id;
    update attachment a set job_id = v_job where a.job_id = v_company.job_id;
    insert into attachment as a (job_id, tenant_id, ticket)
    values (v_job, nullif(current_setting('app.tenant_id', true), ''), v_job)
    on conflict (job_id, tenant_id) do update set ticket = excluded.ticket;
    update company c set job_id = v_job, run_trigger = trigger where c.siren = v_siren;
    if trigger = 'MANUAL_REFRESH' then
        insert into refresh (tenant_id, company_siren, refreshed_at)
        values (nullif(current_setting('app.tenant_id', true), ''), v_siren, ostinato.now())
        on conflict (tenant_id, company_siren) do update set refreshed_at = excluded.refreshed_at;
    end if;
    perform enrichment.attach_request(request_id, v_job);
    return v_job;
end
$$;

-- Returns those of some requests that have left PENDING and RUNNING: one look for all who wait in an API process, whose
-- role sees no tenant's rows. The caller has the ids, which are random, and learns nothing else.
create function enrichment.ended_requests(tenants text[], ids uuid[]) returns table (tenant_id text, id text)
language sql stable security definer
set search_path = enrichment, pg_catalog, pg_temp as $$
    select r.tenant_id, r.id::text from request r
    join unnest($1, $2) w (tenant_id, id) on (w.tenant_id, w.id) = (r.tenant_id, r.id)
    join company c on c.siren = r.company_siren
    where c.enrichment_status not in ('PENDING', 'RUNNING') and c.job_id is null
$$;
