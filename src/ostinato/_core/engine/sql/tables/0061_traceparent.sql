-- The span that added a job, as W3C Trace Context writes it: the spans of its attempts are children of that one.
alter table ostinato_data.job add column traceparent text collate "C";
alter type ostinato_data.claimed_job add attribute traceparent text;
