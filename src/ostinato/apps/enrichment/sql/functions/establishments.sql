-- Establishments: whether a SIRET is one of its company.
--
--   open_establishment     a request names one
--   check_establishments   its company is known by now: the head office is told at once, any other by a job
--
-- As the owner, because establishments are shared by tenants, as companies are; whose request it is, is checked first.

-- Settles what the answers about a company tell of its establishments, and adds a job for each of the others; how many.
-- Nothing while a run is at the company, which calls this when it ends.
create function enrichment.check_establishments(siren text) returns integer language plpgsql security definer
set search_path = enrichment, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_company company;
    v_head    text;
    v_missing boolean;
    v_added   integer;
begin
    select c.* into v_company from company c where c.siren = check_establishments.siren;
    if v_company.job_id is not null then
        return 0;
    end if;
    select t.last_status = 'FAILED' and t.last_error::jsonb ->> 'error_code' = 'NOT_FOUND' into v_missing
    from company_source_retrieval t
    where t.company_siren = v_company.siren and t.source_api = 'API_RECHERCHE_ENTREPRISES';
    select d.payload_json #>> '{results,0,siege,siret}' into v_head from company_document d
    where d.company_siren = v_company.siren and d.doc_type = 'ENTERPRISE_SEARCH' order by d.retrieved_at desc limit 1;
    update establishment e set checked_at = ostinato.now(), job_id = null,
        state = case when v_missing then 'UNKNOWN' else 'KNOWN' end
    where e.company_siren = v_company.siren and e.state = 'PENDING' and (v_missing or e.siret = v_head);
    if v_company.updated_at = '-infinity' then
        return 0;  -- nothing is known of it: the next run will ask again
    end if;
    update establishment e set job_id = ostinato.enqueue_job('enrichment.check_establishment',
                                                             json_build_object('siret', e.siret),
                                                             queue => 'enrichment')
    where e.company_siren = v_company.siren and e.state = 'PENDING'
      and (e.job_id is null or not enrichment.is_live(e.job_id));
    get diagnostics v_added = row_count;
    return v_added;
end
$$;

-- Asks for the establishment that a request of the transaction's tenant names, unless that was told a short time ago;
-- how many jobs that added.
create function enrichment.open_establishment(request_id uuid, freshness_days integer) returns integer
language plpgsql security definer
set search_path = enrichment, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_siren constant text := enrichment.siren_of(request_id);
begin
    insert into establishment as e (siret, company_siren)
    select r.siret, r.company_siren from request r
    where r.tenant_id = nullif(current_setting('app.tenant_id', true), '') and r.id = request_id
    on conflict (siret) do update set state = 'PENDING'
    where e.checked_at <= ostinato.now() - make_interval(days => freshness_days);
    return enrichment.check_establishments(v_siren);
end
$$;
