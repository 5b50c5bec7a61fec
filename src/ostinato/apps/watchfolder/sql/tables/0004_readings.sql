-- What was read in a file, and a picture of its first page before and after: so that people find and recognise what they scanned.
-- The files stay the truth; a row goes with its job. `first_page` is drawn from what came in, `result_page` from what came out, both
-- in the sandbox of OCR.
create table watchfolder.reading (
    tenant_id   text not null,
    folder_id   bigint not null,
    job_key     text not null,
    body        text not null check (char_length(body) <= 200000),
    words       tsvector generated always as (to_tsvector('french', body)) stored,
    first_page  bytea check (octet_length(first_page) <= 400000),
    result_page bytea check (octet_length(result_page) <= 400000),
    read_at     timestamptz not null default ostinato.now(),
    primary key (tenant_id, folder_id, job_key),
    foreign key (tenant_id, folder_id, job_key) references watchfolder.job on delete cascade
);
create index reading_words on watchfolder.reading using gin (words);
select ostinato.protect_table('watchfolder.reading');

-- What waits for a person is counted every few seconds, and listed oldest first.
create index duplicate_waiting on watchfolder.duplicate (detected_at) where state = 'DUPLICATE_PENDING';
create index job_newest on watchfolder.job (tenant_id, changed_at desc, job_key);
