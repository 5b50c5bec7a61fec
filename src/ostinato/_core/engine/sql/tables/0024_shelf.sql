-- Jobs of kinds that no living worker runs wait aside, in `scheduled` with the reason 'no_worker' (shelf.sql):
-- thousands of them at the front of a queue would be stepped over at every claim. ('behind' is a reason of events.)
alter table ostinato_data.scheduled drop constraint scheduled_reason_check;
alter table ostinato_data.scheduled add constraint scheduled_reason_check
    check (reason in ('later', 'retry', 'snooze', 'sleep', 'event', 'behind', 'no_worker'));
create index scheduled_shelf on ostinato_data.scheduled (queue, kind, job_id) where reason = 'no_worker';
