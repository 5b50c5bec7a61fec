-- Places whose job is missing or cannot be read (quarantine.sql): a corrupt page, a row deleted by hand. They are set
-- aside here, so that the jobs beside them go on, and wait for a person.
create table ostinato_data.quarantine (
    job_id     bigint      primary key,
    attempt    integer     not null,
    failures   smallint    not null,
    crashes    smallint    not null,
    found_at   timestamptz not null,
    place      text        collate "C" not null check (place in ('ready', 'claim')),
    queue      text        collate "C" not null,
    worker_id  uuid,
    damage     text        not null
);

-- Parts of a poll that failed lately, while the others went on: one row for each part.
create table ostinato_data.fault (
    part      text        collate "C" primary key,
    times     bigint      not null,
    first_at  timestamptz not null,
    last_at   timestamptz not null,
    state     text        collate "C" not null,
    message   text        not null
);
select ostinato_data.protect('quarantine'), ostinato_data.protect('fault');
create policy tenant on ostinato_data.quarantine for select to ostinato_tenant
    using (exists (select from ostinato_data.job j where j.id = job_id));
grant select on ostinato_data.quarantine to ostinato_tenant;
