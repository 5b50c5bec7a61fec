-- Claims fail too, and then a fault names the queue, and the job that is in the way. A job behind another one is taken
-- along by a claim, so its place may be damaged as well.
alter table ostinato_data.fault add column queue text collate "C", add column job_id bigint;
alter table ostinato_data.quarantine drop constraint quarantine_place_check,
    add constraint quarantine_place_check check (place in ('ready', 'claim', 'scheduled'));
