-- Known companies: a request for one is made and answered in one statement, and so is opening a request.
--
--   show_view         a request and what is known of its company, as the routes show them
--   is_known          whether a company is fresh and nobody is at it
--   ask_known_as      POST of a request whose company is known; for any other it changes nothing, and has no answer
--   show_request_as   GET of a request
--
-- Row-level security decides what a tenant is shown; is_known alone sees companies that it has no request for yet.

create function enrichment.utc(at timestamptz) returns text language sql stable
set search_path = pg_catalog, pg_temp as $$
    select to_char($1 at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;

-- Shows a request of the transaction's tenant; null: it has none. `field_days` says how long each field is good for,
-- and by that which fields are shown. The company is null before its first consolidation; what is masked is not stored.
create function enrichment.show_view(request_id uuid, field_days json) returns json language sql stable
set search_path = enrichment, pg_catalog, pg_temp as $$
    select json_build_object(
        'request', json_build_object(
            'id', r.id, 'created_at', enrichment.utc(r.created_at), 'siren', r.siren, 'siret', r.siret,
            'siret_status', case when r.siret is not null then coalesce(e.state, 'PENDING') end,
            'company_siren', r.company_siren, 'enrichment_status', c.shown_status,
            'enrichment_last_run_at', enrichment.utc(c.enrichment_last_run_at), 'enrichment_error', c.shown_error),
        'company', case when c.updated_at > '-infinity' then (select row_to_json(f) from (
            select c.siren, c.legal_name, c.trade_name, c.brand_name, c.legal_form, c.legal_form_code, c.creation_date,
                   c.active_status, c.address_line1, c.address_line2, c.postal_code, c.city, c.country_code, c.naf_code,
                   c.naf_label, c.headcount_range, c.rcs_city, c.registry_name,
                   enrichment.utc(c.updated_at) as updated_at, c.masked_fields <> '{}' as data_masked, c.masked_fields,
                   p.stale_fields, p.provenance) f) end,
        'enrichment_running', c.is_running)
    from request r join company c on c.siren = r.company_siren
    left join establishment e on e.siret = r.siret
    cross join (select ostinato.now() as at) n
    cross join lateral (
        select coalesce(json_agg(o.field order by o.field collate "C") filter (
                   where n.at - o.observed_at > make_interval(days => (field_days ->> o.field)::integer)
               ), '[]') as stale_fields,
               coalesce(json_object_agg(o.field, json_build_object(
                   'source_api', o.source_api, 'observed_at', enrichment.utc(o.observed_at)) order by o.field
               ), '{}') as provenance
        from company_field_provenance o
        where o.company_siren = r.company_siren and field_days ->> o.field is not null
    ) p
    where r.id = request_id
$$;

-- Returns whether a company is fresh and not in a run. As the owner, because who asks first has no request for it yet.
create function enrichment.is_known(siren text, freshness_days integer) returns boolean language sql stable
security definer
set search_path = enrichment, pg_catalog, pg_temp as $$
    select exists (select from company c where c.siren = $1 and c.job_id is null
                   and c.updated_at > ostinato.now() - make_interval(days => $2))
$$;

-- Makes a request for a company that is known, emits that it was asked for, and answers with what is known. Neither
-- answered nor refused: it is not known, or an earlier call with the key has made a request. Then nothing was done.
-- The company is not locked: a refresh that begins at the same time is one that begins after it.
create function enrichment.ask_known_as(
    as_tenant text, as_correlation text, as_user text, as_key bigint,
    id uuid, company_siren text, siren text, siret text, siren_raw text, siret_raw text, metadata json,
    freshness_days integer, field_days json, idempotency_key text default null, request json default null,
    out answer json, out replayed boolean, out refused json, out queues text[]
) language plpgsql
set search_path = enrichment, pg_catalog, pg_temp as $$
declare
    v_token bigint;
begin
    perform ostinato.enter_tenant(as_tenant, as_correlation, as_user, as_key);
    if not enrichment.is_known(ask_known_as.company_siren, freshness_days) then
        return;
    end if;
    if request is not null then
        perform from request r where r.idempotency_key = ask_known_as.idempotency_key
                                 and r.created_at > ostinato.now() - interval '1 day';
        if found then
            return;
        end if;
        select r.* into v_token, answer, replayed, refused from ostinato.begin_request(request) r;
        if answer is not null or refused is not null then
            return;
        end if;
    end if;
    insert into request (tenant_id, id, siren, siret, siren_raw, siret_raw, company_siren, metadata, created_at,
                         created_by, correlation_id, idempotency_key)
    values (as_tenant, id, siren, siret, siren_raw, siret_raw, company_siren, metadata::jsonb, ostinato.now(), as_user,
            coalesce(as_correlation, 'request-' || id), idempotency_key);
    queues := '{@relay}';
    if siret is not null and enrichment.open_establishment(id, freshness_days) > 0 then
        queues := '{@relay,enrichment}';
    end if;
    perform ostinato.emit_event(
        'CompanyEnrichmentRequested',
        json_build_object('request_id', id, 'company_siren', company_siren, 'company_siret', siret,
                          'trigger', 'REQUEST_CREATED'),
        company_siren, occurred_at => ostinato.now(), producer => 'M3');
    answer := ostinato.make_answer(201, enrichment.show_view(id, field_days)::text);
    replayed := false;
    perform ostinato.finish_request(request, v_token, answer);
end
$$;

-- Shows a request with all that belongs to it, and how it stands, by which the caller is refused or its company asked
-- for again. `limited` leaves out the documents and what the sources answered. No row: the tenant has none such.
create function enrichment.show_request_as(
    as_tenant text, as_correlation text, as_user text, as_key bigint,
    request_id uuid, limited boolean, freshness_days integer, field_days json
) returns table (
    body text, id text, created_by text, company_siren text, enrichment_status text, enrichment_last_run_at timestamptz,
    running boolean, at timestamptz, fresh boolean
) language plpgsql
set search_path = enrichment, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    perform ostinato.enter_tenant(as_tenant, as_correlation, as_user, as_key);
    return query
    select left(enrichment.show_view(request_id, field_days)::text, -1) || ',"documents":'
               || coalesce(d.found, '[]') || ',"source_retrievals":' || coalesce(s.found, '[]')
               || ',"dirigeants":null}',
           r.id::text, r.created_by, r.company_siren, c.shown_status, c.enrichment_last_run_at, c.is_running,
           ostinato.now(), c.updated_at > ostinato.now() - make_interval(days => show_request_as.freshness_days)
    from request r join company c on c.siren = r.company_siren
    left join lateral (
        select json_agg(x)::text as found from (
            select d.id, d.doc_type, d.source_api, enrichment.utc(d.retrieved_at) as retrieved_at, d.checksum
            from company_document d where d.company_siren = r.company_siren and not limited
            order by d.retrieved_at desc, d.doc_type limit 100) x
    ) d on true
    left join lateral (
        select json_agg(x)::text as found from (
            select t.source_api, enrichment.utc(t.last_retrieved_at) as last_retrieved_at, t.last_status,
                   t.last_http_status, t.last_error
            from company_source_retrieval t where t.company_siren = r.company_siren and not limited
            order by t.source_api) x
    ) s on true
    where r.id = request_id;
end
$$;
