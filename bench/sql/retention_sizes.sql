-- The size of the history: tables and indexes of job and outcome, in bytes, and how many weeks.
select sum(pg_total_relation_size(i.inhrelid)), count(distinct right(i.inhrelid::regclass::text, 8))
from pg_inherits i
where i.inhparent in ('ostinato_data.job'::regclass, 'ostinato_data.outcome'::regclass);
