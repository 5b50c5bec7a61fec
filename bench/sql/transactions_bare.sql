\set job :job0 + :client_id * :each + :n
\set n :n + 1
begin;
insert into bench_effect (job_id, attempt) values (:job, 1);
insert into ostinato_data.outcome (job_id, finished_at, attempt, outcome) values (:job, now(), 2, 'done');
commit;
