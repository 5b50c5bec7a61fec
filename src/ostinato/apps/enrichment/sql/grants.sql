-- Who may do what. Tenants add and read their requests, and read of companies what their requests speak of; runs are the workers'.
grant usage on schema enrichment to ostinato_worker, ostinato_tenant;
revoke all on all tables in schema enrichment from ostinato_worker, ostinato_tenant;
revoke execute on all functions in schema enrichment from public, ostinato_worker, ostinato_tenant;

grant select on enrichment.request to ostinato_worker, ostinato_tenant;
grant insert (tenant_id, id, siren, siret, siren_raw, siret_raw, company_siren, metadata, created_at, created_by, correlation_id, idempotency_key)
on enrichment.request to ostinato_tenant;

grant select on enrichment.company, enrichment.company_document, enrichment.company_source_retrieval, enrichment.company_field_provenance
to ostinato_worker, ostinato_tenant;
grant update on enrichment.company to ostinato_worker;
grant insert, update on enrichment.company_document, enrichment.company_source_retrieval, enrichment.company_field_provenance to ostinato_worker;

grant select, update on enrichment.source to ostinato_worker;
grant select (source_api, failures, paused_until, paused_for, last_ok_at, last_error_at, last_error) on enrichment.source to ostinato_tenant;

grant execute on function enrichment.open_company, enrichment.look_at, enrichment.start_run to ostinato_worker, ostinato_tenant;
grant execute on function
    enrichment.take_turn, enrichment.note_fetch, enrichment.ask_token, enrichment.keep_token, enrichment.is_live
to ostinato_worker;
