-- Subjects: whom a job, an event or a webhook is about, so that everything about a person can be erased
-- (functions/erasure.sql). A subject is often a number or an address, so it is stored as a keyed hash of it and its
-- tenant: whoever asks for the erasure names the subject, and nobody reads it here.
--
-- The columns are null for what has no subject, and the indexes hold only what has one: they cost others nothing.
alter table ostinato_data.job add column subject bytea, add column erased_at timestamptz;
alter table ostinato_data.event add column subject bytea, add column erased_at timestamptz;
alter table ostinato_data.webhook_message add column subject bytea;
-- The subjects of what a request added, whose answer is stored.
alter table ostinato_data.idempotency add column subjects bytea[];
create index job_subject on ostinato_data.job (subject) where subject is not null;
create index event_subject on ostinato_data.event (subject) where subject is not null;
create index webhook_message_subject on ostinato_data.webhook_message (subject) where subject is not null;
create index idempotency_subjects on ostinato_data.idempotency using gin (subjects) where subjects is not null;

-- The installation's own secret, as the two pads of HMAC-SHA-256, made when it is first needed. Only the owner reads
-- it, in subject_hash. It is in every backup of the database, and nowhere else.
create table ostinato_data.subject_secret (
    only_row   boolean primary key default true check (only_row),
    inner_pad  bytea   not null check (length(inner_pad) = 64),
    outer_pad  bytea   not null check (length(outer_pad) = 64)
);
select ostinato_data.protect('subject_secret');
revoke all on ostinato_data.subject_secret from ostinato_worker;
drop policy engine on ostinato_data.subject_secret;
create policy owner on ostinato_data.subject_secret to ostinato_owner using (true) with check (true);

-- A worker hands the subject of its job on to what the handler adds.
alter type ostinato_data.claimed_job add attribute subject text;

-- What an erasure did: how many rows of each table, and what is left to do.
create type ostinato_data.erasure as (
    complete boolean, erased json, total bigint, cancelled bigint, running bigint, waiting bigint, job_ids bigint[]
);
