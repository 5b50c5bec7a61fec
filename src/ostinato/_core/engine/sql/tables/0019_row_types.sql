-- A job that a worker has claimed, with what it needs to run it: the answer of claim_jobs and await_jobs.
create type ostinato_data.claimed_job as (
    job_id bigint, attempt integer, failures smallint, crashes smallint, claim_id bigint, kind text, args text,
    tenant_id text, correlation_id text, max_attempts smallint, waited double precision, next_cursor text
);

-- The rows of `ready` and `scheduled` as functions hand them on. They are types of their own, so that a column which a
-- later migration adds to a table breaks no function that runs meanwhile; that migration makes the next types.
create type ostinato_data.place as (
    position bigint, job_id bigint, attempt integer, priority smallint, failures smallint, crashes smallint,
    keyed boolean, queue text collate "C", tenant_id text collate "C", kind text collate "C", limit_key text collate "C"
);

create type ostinato_data.waiting_place as (
    job_id bigint, run_at timestamptz, attempt integer, priority smallint, failures smallint, crashes smallint,
    keyed boolean, reason text collate "C", queue text collate "C", tenant_id text collate "C", kind text collate "C",
    limit_key text collate "C"
);
