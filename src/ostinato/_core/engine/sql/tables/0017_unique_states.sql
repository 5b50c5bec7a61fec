-- The states in which a job holds its unique key, when they are not the usual ones: one that comes back takes it for the same.
alter table ostinato_data.job add column unique_states text[];
