-- Which release a worker runs, and how many jobs it runs at once: people see both. Workers of a release before say neither.
alter table ostinato_data.worker add column release text, add column places integer;
