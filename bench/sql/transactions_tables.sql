-- What the jobs of bench.transactions write.
create table bench_effect (job_id bigint not null, attempt integer not null);
grant insert on bench_effect to ostinato_worker;
