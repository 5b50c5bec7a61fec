-- Companies of which a source did not answer wait for a person, who has them looked up again or takes them as they are:
-- of this snapshot only, the next one is a question of its own.
create table enrichment.accepted (
    tenant_id     text not null,
    company_siren text not null check (company_siren ~ '^[0-9]{9}$'),
    snapshot_at   timestamptz not null,
    accepted_by   text not null,
    accepted_at   timestamptz not null default ostinato.now(),
    primary key (tenant_id, company_siren)
);
select ostinato.protect_table('enrichment.accepted');
create index company_partial on enrichment.company (updated_at) where enrichment_status = 'PARTIAL';
