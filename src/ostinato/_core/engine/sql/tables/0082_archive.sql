-- What leaves the history is archived first, where somebody asked for that (archive.sql).

-- That nothing is dropped before it is archived, and where to: one row, or none.
create table ostinato_data.archive_rule (
    one   boolean     primary key default true check (one),
    place text        not null,
    since timestamptz not null
);

-- What was archived: weeks by the names of their partitions, late rows by their range. Without a time it has only begun.
create table ostinato_data.archive (
    name        text        collate "C" primary key,
    archived_at timestamptz,
    rows        bigint,
    bytes       bigint,
    first       bigint,
    last        bigint,
    file        text,
    place       text,
    sha256      text
);

-- Rows that were deleted one by one, because they outlived their week, and are yet to be archived.
create table ostinato_data.archive_late (
    id     bigint generated always as identity primary key,
    source text   collate "C" not null,
    line   text   not null
);
select ostinato_data.protect('archive_rule'), ostinato_data.protect('archive'), ostinato_data.protect('archive_late');
