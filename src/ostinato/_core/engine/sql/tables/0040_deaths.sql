-- Processes that died with jobs in their hands. The functions are in workers.sql.

-- A job that ran alone in three processes that died is guilty, unless others die as well: then something else kills them.
-- A row is written for each worker whose claims are taken back, and kept for an hour (death_seconds).
create table ostinato_data.death (
    worker_id  uuid        not null,
    died_at    timestamptz not null,
    -- The jobs that had begun there.
    begun      bigint[]    not null,
    -- Whether it ran one job and nothing else.
    alone      boolean     not null
);
create index death_died on ostinato_data.death (died_at);

select ostinato_data.protect('death');
