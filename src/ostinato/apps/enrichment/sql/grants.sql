-- Who may do what. Tenants add and read their requests, and read of companies what their requests speak of; runs are
-- the workers'.
grant usage on schema enrichment to ostinato_worker, ostinato_tenant, ostinato_api;
revoke all on all tables in schema enrichment from ostinato_worker, ostinato_tenant;
revoke execute on all functions in schema enrichment from public, ostinato_worker, ostinato_tenant, ostinato_api;

-- Which job a run is, a tenant is not shown: it may be another tenant's.
grant select on enrichment.request to ostinato_worker;
grant select (
    tenant_id, id, siren, siret, siren_raw, siret_raw, company_siren, metadata, created_at, created_by, correlation_id,
    idempotency_key
) on enrichment.request to ostinato_tenant;
grant insert (tenant_id, id, siren, siret, siren_raw, siret_raw, company_siren, metadata, created_at, created_by,
              correlation_id, idempotency_key)
on enrichment.request to ostinato_tenant;

grant select on enrichment.company to ostinato_worker;
grant select (
    siren, legal_name, trade_name, brand_name, legal_form, creation_date, active_status, address_line1, address_line2,
    postal_code, city, country_code, naf_code, naf_label, headcount_range, rcs_city, registry_name, masked_fields,
    updated_at, freshness_days, enrichment_status, enrichment_error, enrichment_last_run_at, core_identity_present,
    sources_success_count, required_sources_failed_count, optional_sources_failed_count, is_running, legal_form_code,
    shown_status, shown_error
) on enrichment.company to ostinato_tenant;
grant select on enrichment.company_document, enrichment.company_source_retrieval, enrichment.company_field_provenance
to ostinato_worker, ostinato_tenant;
grant update on enrichment.company to ostinato_worker;
grant insert, update on enrichment.company_document, enrichment.company_source_retrieval,
    enrichment.company_field_provenance to ostinato_worker;

grant select, insert, update on enrichment.accepted to ostinato_worker, ostinato_tenant;

grant select, delete on enrichment.attachment to ostinato_worker;
grant select, insert, update, delete on enrichment.fetched to ostinato_worker;

grant select, update on enrichment.source to ostinato_worker;
grant select (
    source_api, configured, failures, paused_until, paused_for, probing_until, held_until, last_ok_at, last_error_at,
    last_error, day, day_calls, day_limit
) on enrichment.source to ostinato_tenant;

grant execute on function enrichment.ended_requests to ostinato_worker, ostinato_api;
grant execute on function enrichment.open_company, enrichment.look_at, enrichment.start_run
    to ostinato_worker, ostinato_tenant;
grant execute on function
    enrichment.take_turn, enrichment.closed_until, enrichment.keep_place, enrichment.sleep_before,
    enrichment.sleep_run, enrichment.hold_back, enrichment.is_held, enrichment.note_fetch, enrichment.ask_token,
    enrichment.keep_token, enrichment.is_live, enrichment.refusing_sources, enrichment.missing_sources,
    enrichment.paused_sources, enrichment.used_quotas
to ostinato_worker;
grant execute on function enrichment.rerun_companies to ostinato_worker;
grant execute on function enrichment.rerun_own to ostinato_tenant;

grant select (siret, company_siren, state, checked_at) on enrichment.establishment to ostinato_tenant;
grant select, update on enrichment.establishment to ostinato_worker;
grant delete on enrichment.company_field_provenance to ostinato_worker;
grant execute on function enrichment.open_establishment to ostinato_tenant;
grant execute on function enrichment.check_establishments to ostinato_worker;

-- Whole requests say as whom they act: no tenant's session has them.
grant execute on function enrichment.ask_known_as, enrichment.show_request_as to ostinato_api, ostinato_worker;
grant execute on function enrichment.utc, enrichment.show_view, enrichment.is_known to ostinato_tenant;
