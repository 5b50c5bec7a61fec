-- Rows of one transition that are parts of several requests: which, by their ids.
alter table ostinato_data.transition_pass add column correlation_ids jsonb;
