-- Companies, as three official sources know them, and the requests of tenants that speak of them.
--
-- A company is shared by all tenants (M3A: the key is the SIREN); a request belongs to one. The state machine is the company's: the lock, the
-- counters and the age of the snapshot are. A request shows the state of its company, or PENDING while a run for it has not started;
-- triggers see to both, so that not even psql can tell the two apart.
--
-- Lock order: lease, company, requests, keys of events, claim of the job.

create table enrichment.company (
    siren                         text primary key check (siren ~ '^[0-9]{9}$'),
    legal_name                    text,
    trade_name                    text,
    brand_name                    text,
    legal_form                    text,
    creation_date                 date,
    active_status                 text,
    address_line1                 text,
    address_line2                 text,
    postal_code                   text,
    city                          text,
    country_code                  text check (country_code ~ '^[A-Z]{2}$'),
    naf_code                      text,
    naf_label                     text,
    headcount_range               text,
    rcs_city                      text,
    registry_name                 text,
    masked_fields                 text[] not null default '{}',
    -- The end of the last run that consolidated it. Before the first one: never fresh (domain.md 5.8, 3).
    updated_at                    timestamptz not null default '-infinity',
    freshness_days                integer not null default 30 check (freshness_days > 0),
    enrichment_status             text not null default 'PENDING',
    enrichment_error              text check (char_length(enrichment_error) <= 2000),
    enrichment_last_run_at        timestamptz,
    core_identity_present         boolean not null default false,
    sources_success_count         integer not null default 0,
    required_sources_failed_count integer not null default 0,
    optional_sources_failed_count integer not null default 0,
    -- The job that is to enrich it, from enqueueing to its end; null when there is none.
    job_id                        bigint,
    run_trigger                   text,
    attempt                       integer not null default 0,
    -- The fencing token of the lease company_enrichment:{siren} while it runs.
    lock_token                    bigint,
    refreshed_at                  timestamptz
);
create index company_stale on enrichment.company (updated_at) where enrichment_status in ('SUCCESS', 'PARTIAL', 'STALE');
create index company_at_work on enrichment.company (job_id) where job_id is not null;

create table enrichment.request (
    tenant_id              text not null,
    id                     uuid not null,
    siren                  text check (siren ~ '^[0-9]{9}$'),
    siret                  text check (siret ~ '^[0-9]{14}$'),
    siren_raw              text check (char_length(siren_raw) <= 100),
    siret_raw              text check (char_length(siret_raw) <= 100),
    company_siren          text not null references enrichment.company,
    metadata               jsonb not null default '{}' check (jsonb_typeof(metadata) = 'object'),
    created_at             timestamptz not null,
    created_by             text not null,
    correlation_id         text not null,
    idempotency_key        text,
    enrichment_status      text not null default 'PENDING'
        check (enrichment_status in ('PENDING', 'RUNNING', 'SUCCESS', 'PARTIAL', 'FAILED', 'STALE')),
    enrichment_last_run_at timestamptz,
    enrichment_error       text,
    -- The job that it waits for, or waited for last.
    job_id                 bigint,
    primary key (tenant_id, id),
    check (siren is not null or siret is not null),
    check (siren is null or siren = company_siren),
    check (siret is null or left(siret, 9) = company_siren)
);
create index request_of_company on enrichment.request (company_siren, created_at desc);
create index request_of_tenant on enrichment.request (tenant_id, company_siren);
create index request_by_key on enrichment.request (tenant_id, idempotency_key) where idempotency_key is not null;

create table enrichment.company_document (
    id            uuid primary key default gen_random_uuid(),
    company_siren text not null references enrichment.company,
    doc_type      text not null check (doc_type in ('RCS_EXTRACT', 'RNE_FORMALITY', 'ENTERPRISE_SEARCH')),
    source_api    text not null check (source_api in ('API_RECHERCHE_ENTREPRISES', 'INPI_RNE', 'API_ENTREPRISE_RCS')),
    retrieved_at  timestamptz not null,
    -- Null: too large to be kept, or past its retention. The checksum stays.
    payload_json  jsonb,
    checksum      text not null,
    unique (company_siren, doc_type, checksum)
);
create index company_document_newest on enrichment.company_document (company_siren, retrieved_at desc);
create index company_document_age on enrichment.company_document (retrieved_at) where payload_json is not null;

create table enrichment.company_source_retrieval (
    company_siren     text not null references enrichment.company,
    source_api        text not null check (source_api in ('API_RECHERCHE_ENTREPRISES', 'INPI_RNE', 'API_ENTREPRISE_RCS')),
    last_retrieved_at timestamptz not null,
    last_status       text not null check (last_status in ('SUCCESS', 'FAILED')),
    last_http_status  integer,
    last_error        text,
    primary key (company_siren, source_api)
);

create table enrichment.company_field_provenance (
    company_siren text not null references enrichment.company,
    field         text not null,
    source_api    text not null,
    document_id   uuid references enrichment.company_document,
    value_hash    text not null,
    observed_at   timestamptz not null,
    primary key (company_siren, field)
);

-- One row per source, for all workers: whose turn it is, whether it is paused, and the token that it gave us.
create table enrichment.source (
    source_api    text primary key,
    next_at       timestamptz not null default '-infinity',
    day           date,
    day_calls     integer not null default 0,
    failures      integer not null default 0,
    paused_until  timestamptz,
    paused_for    text,
    probing_until timestamptz,
    last_ok_at    timestamptz,
    last_error_at timestamptz,
    last_error    text,
    token         text,
    token_until   timestamptz,
    login_until   timestamptz,
    logins        timestamptz[] not null default '{}'
);
insert into enrichment.source (source_api) values ('API_RECHERCHE_ENTREPRISES'), ('INPI_RNE'), ('API_ENTREPRISE_RCS');

-- What no comparison with a constant can say of a company's state.
create function enrichment.check_company() returns trigger language plpgsql security definer
set search_path = enrichment, pg_catalog, pg_temp as $$
begin
    if new.enrichment_status = 'RUNNING' then
        -- Invariant 1: the lock is ours now. Until this transaction ends nobody takes it over.
        perform ostinato.guard_lease('company_enrichment:' || new.siren, new.lock_token, '@enrichment');
        if old.enrichment_status = 'SUCCESS' and new.run_trigger is distinct from 'MANUAL_REFRESH' then
            raise exception using errcode = 'OS425', message = format('company %s is SUCCESS: only a manual refresh runs it again', new.siren),
                detail = json_build_object('siren', new.siren, 'trigger', new.run_trigger), hint = 'Wait until it is STALE, or refresh it by hand.';
        end if;
    elsif new.enrichment_status = 'STALE' and new.updated_at > ostinato.now() - make_interval(days => new.freshness_days) then
        raise exception using errcode = 'OS425', message = format('company %s is fresh: it is not %s days old', new.siren, new.freshness_days),
            detail = json_build_object('siren', new.siren, 'updated_at', new.updated_at), hint = 'It expires by itself.';
    end if;
    return null;
end
$$;
create trigger company_checked after update of enrichment_status on enrichment.company
for each row execute function enrichment.check_company();

-- Tells the requests of a company how it stands (M3C, pipeline 10). As the owner: they are those of all tenants.
create function enrichment.tell_requests() returns trigger language plpgsql security definer
set search_path = enrichment, pg_catalog, pg_temp as $$
begin
    update request r set enrichment_status = new.enrichment_status, enrichment_error = new.enrichment_error,
        enrichment_last_run_at = new.enrichment_last_run_at
    where r.company_siren = new.siren
      and (r.enrichment_status, r.enrichment_error, r.enrichment_last_run_at)
          is distinct from (new.enrichment_status, new.enrichment_error, new.enrichment_last_run_at);
    return null;
end
$$;
create trigger company_told after update of enrichment_status on enrichment.company
for each row execute function enrichment.tell_requests();

-- A request is PENDING, or as its company.
create function enrichment.check_request() returns trigger language plpgsql security definer
set search_path = enrichment, pg_catalog, pg_temp as $$
begin
    if new.enrichment_status <> 'PENDING'
       and new.enrichment_status <> (select c.enrichment_status from company c where c.siren = new.company_siren) then
        raise exception using errcode = 'OS424', message = format('request %s cannot be %s: its company is not', new.id, new.enrichment_status),
            detail = json_build_object('id', new.id, 'state', new.enrichment_status), hint = 'The state of a request is that of its company.';
    end if;
    return null;
end
$$;
create trigger request_checked after insert or update of enrichment_status on enrichment.request
for each row execute function enrichment.check_request();

select ostinato.install_machine('{
 "name": "company_enrichment",
 "about": "What is known about a company, and how it was found out.",
 "states": [
  "PENDING",
  "RUNNING",
  "SUCCESS",
  "PARTIAL",
  "FAILED",
  "STALE"
 ],
 "initial": "PENDING",
 "terminal": [],
 "transitions": [
  {
   "from": "PENDING",
   "event": "start",
   "to": "RUNNING",
   "guard": "a job has started and has the lock"
  },
  {
   "from": "STALE",
   "event": "start",
   "to": "RUNNING",
   "guard": "a job has started and has the lock"
  },
  {
   "from": "FAILED",
   "event": "start",
   "to": "RUNNING",
   "guard": "a job has started and has the lock"
  },
  {
   "from": "PARTIAL",
   "event": "start",
   "to": "RUNNING",
   "guard": "a job has started and has the lock"
  },
  {
   "from": "SUCCESS",
   "event": "refresh",
   "to": "RUNNING",
   "guard": "somebody asked for it by hand"
  },
  {
   "from": "RUNNING",
   "event": "take_over",
   "to": "RUNNING",
   "guard": "the lock had expired; attempt + 1"
  },
  {
   "from": "RUNNING",
   "event": "succeed",
   "to": "SUCCESS",
   "guard": "core identity, and neither a required nor an optional source failed"
  },
  {
   "from": "RUNNING",
   "event": "end_partly",
   "to": "PARTIAL",
   "guard": "core identity, and only optional sources failed"
  },
  {
   "from": "RUNNING",
   "event": "fail",
   "to": "FAILED",
   "guard": "a required source failed, or no core identity"
  },
  {
   "from": "SUCCESS",
   "event": "expire",
   "to": "STALE",
   "guard": "the snapshot is past its time to live"
  },
  {
   "from": "PARTIAL",
   "event": "expire",
   "to": "STALE",
   "guard": "the snapshot is past its time to live"
  }
 ],
 "invariants": [
  {
   "states": [
    "RUNNING"
   ],
   "any": false,
   "why": "M3C-invariant-1: a lock",
   "text": "lock_token is filled and job_id is filled",
   "checks": [
    {
     "column": "lock_token",
     "is": "filled",
     "value": null
    },
    {
     "column": "job_id",
     "is": "filled",
     "value": null
    }
   ]
  },
  {
   "states": [
    "SUCCESS"
   ],
   "any": false,
   "why": "M3C-invariant-2",
   "text": "core_identity_present = true",
   "checks": [
    {
     "column": "core_identity_present",
     "is": "=",
     "value": true
    }
   ]
  },
  {
   "states": [
    "SUCCESS"
   ],
   "any": false,
   "why": "M3C-invariant-3",
   "text": "required_sources_failed_count = 0 and optional_sources_failed_count = 0",
   "checks": [
    {
     "column": "required_sources_failed_count",
     "is": "=",
     "value": 0
    },
    {
     "column": "optional_sources_failed_count",
     "is": "=",
     "value": 0
    }
   ]
  },
  {
   "states": [
    "PARTIAL"
   ],
   "any": false,
   "why": "M3C-invariant-4",
   "text": "required_sources_failed_count = 0 and optional_sources_failed_count > 0 and core_identity_present = true",
   "checks": [
    {
     "column": "required_sources_failed_count",
     "is": "=",
     "value": 0
    },
    {
     "column": "optional_sources_failed_count",
     "is": ">",
     "value": 0
    },
    {
     "column": "core_identity_present",
     "is": "=",
     "value": true
    }
   ]
  },
  {
   "states": [
    "FAILED"
   ],
   "any": true,
   "why": "M3C-invariant-5",
   "text": "required_sources_failed_count > 0 or core_identity_present = false",
   "checks": [
    {
     "column": "required_sources_failed_count",
     "is": ">",
     "value": 0
    },
    {
     "column": "core_identity_present",
     "is": "=",
     "value": false
    }
   ]
  },
  {
   "states": [
    "FAILED"
   ],
   "any": false,
   "why": "M3C-invariant-6",
   "text": "enrichment_error is filled",
   "checks": [
    {
     "column": "enrichment_error",
     "is": "filled",
     "value": null
    }
   ]
  },
  {
   "states": [
    "STALE"
   ],
   "any": false,
   "why": "M3C-invariant-7: a snapshot; its age is looked at by a trigger",
   "text": "updated_at > \"-infinity\"",
   "checks": [
    {
     "column": "updated_at",
     "is": ">",
     "value": "-infinity"
    }
   ]
  }
 ]
}');
select ostinato.attach_machine('company_enrichment', 'enrichment.company', 'siren', 'enrichment_status');

-- Requests are their tenant's. What is shared is shown to a tenant as far as a request of its own speaks of it.
select ostinato.protect_table('enrichment.request');
do $$
declare
    v_table text;
begin
    foreach v_table in array '{company,company_document,company_source_retrieval,company_field_provenance,source}'::text[] loop
        execute format('alter table enrichment.%I enable row level security, force row level security', v_table);
        execute format('create policy engine on enrichment.%I to ostinato_owner, ostinato_worker using (true) with check (true)', v_table);
    end loop;
    create policy tenant on enrichment.company for select to ostinato_tenant
        using (exists (select from enrichment.request r where r.company_siren = company.siren));
    foreach v_table in array '{company_document,company_source_retrieval,company_field_provenance}'::text[] loop
        execute format('create policy tenant on enrichment.%1$I for select to ostinato_tenant'
                       ' using (exists (select from enrichment.request r where r.company_siren = %1$I.company_siren))', v_table);
    end loop;
    create policy tenant on enrichment.source for select to ostinato_tenant using (true);
end
$$;
