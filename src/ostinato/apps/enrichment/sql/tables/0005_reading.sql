-- What a company is shown with: the code of its legal form, whether a SIRET is one of it; what is withheld is not kept.

alter table enrichment.company add column legal_form_code text;

-- Whether a SIRET is an establishment of its company: of all tenants, as the company is.
create table enrichment.establishment (
    siret         text primary key check (siret ~ '^[0-9]{14}$'),
    company_siren text not null references enrichment.company,
    state         text not null default 'PENDING' check (state in ('PENDING', 'KNOWN', 'UNKNOWN')),
    checked_at    timestamptz,
    -- The job that asks for it.
    job_id        bigint,
    check (left(siret, 9) = company_siren)
);
create index establishment_open on enrichment.establishment (company_siren) where state = 'PENDING';

alter table enrichment.establishment enable row level security, force row level security;
create policy engine on enrichment.establishment to ostinato_owner, ostinato_worker using (true) with check (true);
create policy tenant on enrichment.establishment for select to ostinato_tenant
    using (exists (select from enrichment.request r where r.siret = establishment.siret));

-- When a tenant last had a company refreshed by hand: a cooldown of its own, so that it learns nothing of others.
create table enrichment.refresh (
    tenant_id     text not null,
    company_siren text not null references enrichment.company,
    refreshed_at  timestamptz not null,
    primary key (tenant_id, company_siren)
);
create index refresh_of_company on enrichment.refresh (company_siren);
select ostinato.protect_table('enrichment.refresh');

-- Requests are listed newest first.
create index request_newest on enrichment.request (tenant_id, created_at desc, id desc);

-- What a source withholds was kept from an earlier answer, and only not shown: it goes, with the hashes of it and the
-- older answers of the search that had it. A run does the same from now on.
update enrichment.company c set
    legal_name = case when 'legal_name' <> all (c.masked_fields) then c.legal_name end,
    trade_name = case when 'trade_name' <> all (c.masked_fields) then c.trade_name end,
    brand_name = case when 'brand_name' <> all (c.masked_fields) then c.brand_name end,
    legal_form = case when 'legal_form' <> all (c.masked_fields) then c.legal_form end,
    creation_date = case when 'creation_date' <> all (c.masked_fields) then c.creation_date end,
    active_status = case when 'active_status' <> all (c.masked_fields) then c.active_status end,
    address_line1 = case when 'address_line1' <> all (c.masked_fields) then c.address_line1 end,
    address_line2 = case when 'address_line2' <> all (c.masked_fields) then c.address_line2 end,
    postal_code = case when 'postal_code' <> all (c.masked_fields) then c.postal_code end,
    city = case when 'city' <> all (c.masked_fields) then c.city end,
    country_code = case when 'country_code' <> all (c.masked_fields) then c.country_code end,
    naf_code = case when 'naf_code' <> all (c.masked_fields) then c.naf_code end,
    naf_label = case when 'naf_label' <> all (c.masked_fields) then c.naf_label end,
    headcount_range = case when 'headcount_range' <> all (c.masked_fields) then c.headcount_range end,
    rcs_city = case when 'rcs_city' <> all (c.masked_fields) then c.rcs_city end,
    registry_name = case when 'registry_name' <> all (c.masked_fields) then c.registry_name end
where c.masked_fields <> '{}';

delete from enrichment.company_field_provenance p using enrichment.company c
where c.siren = p.company_siren and p.field = any (c.masked_fields);

update enrichment.company_document d set payload_json = null
from enrichment.company c
where c.siren = d.company_siren and c.masked_fields <> '{}' and d.doc_type = 'ENTERPRISE_SEARCH'
  and d.payload_json is not null
  and d.id <> (select n.id from enrichment.company_document n
               where n.company_siren = d.company_siren and n.doc_type = d.doc_type
               order by n.retrieved_at desc limit 1);
