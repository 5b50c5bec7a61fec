-- A claim of one job, what of a claim has begun, and what ran alone (functions/claims.sql, workers.sql).
--   job_id      the job, where the claim is of this one alone: its open transaction holds up no other job
--   split_from  the claim that the job was in before it got its own; its holder may still name that one
--   waiting     so many jobs at the end of the arrays have not begun: they are no cause of a crash
--   alone       nothing else ran in the process when its job began: a crash is this job's doing
alter table ostinato_data.claim
    add column job_id bigint, add column split_from bigint,
    add column waiting integer not null default 0, add column alone boolean not null default false;
create unique index claim_own on ostinato_data.claim (job_id) where job_id is not null;
create index claim_split on ostinato_data.claim (split_from) where split_from is not null;
