-- Pauses that are slept through, results that are run again, and requests that read the state of their company.

alter table enrichment.source
    -- Until when jobs that wait for their turn have been put to sleep, each until a turn of its own.
    add column asleep_until timestamptz,
    -- How many jobs have been put to sleep since it was called last, until its pause or its day is over.
    add column asleep integer not null default 0;

alter table enrichment.company
    -- Its run sleeps until then, with the lock: a source is paused.
    add column asleep_until timestamptz,
    -- What the last run met passes: it is run again then. Null: by nobody.
    add column rerun_at timestamptz,
    -- How often in a row that was done.
    add column reruns integer not null default 0,
    -- The job that ended last: whoever waited for it is told what its rerun says.
    add column last_job_id bigint,
    -- What its requests show: PENDING while a run has not started that nothing can be shown without.
    add column shown_status text generated always as (
        case when job_id is not null and enrichment_status in ('PENDING', 'FAILED') then 'PENDING'
             else enrichment_status end) stored,
    add column shown_error text generated always as (
        case when job_id is not null and enrichment_status in ('PENDING', 'FAILED') then null
             else enrichment_error end) stored;
create index company_to_rerun on enrichment.company (rerun_at) where rerun_at is not null;
create index company_unwell on enrichment.company (siren) where enrichment_status in ('PARTIAL', 'FAILED');

-- A request reads the state of its company, so that a run does not write all that were ever made for it.
drop trigger company_told on enrichment.company;
drop function enrichment.tell_requests();
drop trigger request_checked on enrichment.request;
drop function enrichment.check_request();
alter table enrichment.request
    drop column enrichment_status, drop column enrichment_last_run_at, drop column enrichment_error;
create index request_of_job on enrichment.request (job_id) where job_id is not null;
