\set job :job0 + :client_id * :each + :n
\set claim :claim0 + :client_id * :each + :n
\set n :n + 1
begin;
insert into bench_effect (job_id, attempt) values (:job, 1);
select * from ostinato.complete_job(job_id => :job, attempt => 1, result => null, duration_ms => 1, claim_id => :claim);
commit;
