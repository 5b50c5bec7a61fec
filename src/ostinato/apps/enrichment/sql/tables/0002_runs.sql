-- What belongs to a run and is nobody's to read: the numbers by which tenants know it, and what the sources answered.

-- A run is known to the tenant that started it by the id of its job, to any other that waits for it by a number of its own: nobody learns an
-- id of somebody else (domain.md 5.8, 4).
create table enrichment.attachment (
    job_id    bigint not null,
    tenant_id text not null,
    ticket    bigint not null,
    primary key (job_id, tenant_id)
);

-- What a source answered, from its call to the end of the run. Not in the result of the step: whoever may look at jobs would read the
-- births and homes of directors there.
create table enrichment.fetched (
    job_id     bigint not null,
    source_api text not null check (source_api in ('API_RECHERCHE_ENTREPRISES', 'INPI_RNE', 'API_ENTREPRISE_RCS')),
    found      jsonb not null,
    masked     text[] not null,
    -- Null: too large to be kept.
    payload    jsonb,
    primary key (job_id, source_api)
);

do $$
declare
    v_table text;
begin
    foreach v_table in array '{attachment,fetched}'::text[] loop
        execute format('alter table enrichment.%I enable row level security, force row level security', v_table);
        execute format('create policy engine on enrichment.%I to ostinato_owner, ostinato_worker using (true) with check (true)', v_table);
    end loop;
end
$$;

-- Tenants are shown whether a run is at a company, and not which job it is.
alter table enrichment.company add column is_running boolean generated always as (job_id is not null) stored;

alter table enrichment.source
    -- False: it has no credentials, and is not part of the pipeline.
    add column configured boolean not null default true,
    -- It said Retry-After, and for so short a time that runs wait for it.
    add column held_until timestamptz,
    -- How many calls of a day it allows; null: it does not count them.
    add column day_limit integer;
