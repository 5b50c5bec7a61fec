-- Watched folders, and what the workers that tend them have seen.
--
-- The files are the truth: a folder's state.json, index.json and hold/ say how things are. These tables are what the engine observed, so that
-- tenants can ask. The one thing that goes the other way is a decision about a duplicate: a person takes it here, the worker that tends
-- the folder writes decision.json, and the tick carries it out.
--
-- Lock order: folder, job, duplicate, keys of events, claim of the job.

create table watchfolder.folder (
    tenant_id  text not null,
    id         bigint not null generated always as identity,
    name       text not null check (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
    -- Where it is, on the machine of the worker that tends it.
    path       text not null check (char_length(path) <= 4096),
    lang       text not null check (lang ~ '^[A-Za-z_]{2,20}(\+[A-Za-z_]{2,20}){0,9}$'),
    active     boolean not null default true,
    created_at timestamptz not null,
    created_by text not null,
    -- What the last tick of the folder said.
    ticked_at  timestamptz,
    metrics    jsonb not null default '{}' check (jsonb_typeof(metrics) = 'object'),
    problem    text check (char_length(problem) <= 2000),
    primary key (tenant_id, id),
    unique (tenant_id, name)
);

create table watchfolder.job (
    tenant_id    text not null,
    folder_id    bigint not null,
    job_key      text not null check (job_key ~ '^[0-9a-f]{64}__[0-9a-f]{8,64}$'),
    -- The number of the last state that was told as an event: what state.json has beyond it is still to be told.
    seq          integer not null check (seq > 0),
    state        text not null,
    file_name    text not null,
    size_bytes   bigint,
    attempt_prep integer not null default 0,
    attempt_ocr  integer not null default 0,
    pages        integer,
    error_code   text,
    cause        jsonb,
    out_path     text,
    archive_path text,
    result       jsonb,
    message      text,
    created_at   timestamptz not null,
    changed_at   timestamptz not null,
    primary key (tenant_id, folder_id, job_key),
    foreign key (tenant_id, folder_id) references watchfolder.folder
);
create index job_changed on watchfolder.job (tenant_id, folder_id, changed_at desc, job_key);

create table watchfolder.duplicate (
    tenant_id     text not null,
    id            bigint not null generated always as identity,
    folder_id     bigint not null,
    job_key       text not null check (job_key ~ '^[0-9a-f]{64}__[0-9a-f]{8,64}$'),
    state         text not null default 'DUPLICATE_PENDING',
    -- Names of the files that are held.
    files         text[] not null,
    existing      text,
    detected_at   timestamptz not null,
    action        text check (action in ('USE_EXISTING_RESULT', 'DISCARD', 'FORCE_REPROCESS')),
    decided_files text[],
    decided_by    text,
    decided_at    timestamptz,
    message       text check (char_length(message) <= 2000),
    primary key (tenant_id, id),
    unique (tenant_id, folder_id, job_key),
    unique (id),
    foreign key (tenant_id, folder_id) references watchfolder.folder
);

select ostinato.protect_table('watchfolder.folder');
select ostinato.protect_table('watchfolder.job');
select ostinato.protect_table('watchfolder.duplicate');

-- The machine, as machine.py declares it.
select ostinato.install_machine($machine${
    "name": "watchfolder_duplicate",
    "about": "Files that came again, held until a person decides.",
    "states": ["DUPLICATE_PENDING", "DECIDED", "APPLIED"],
    "initial": "DUPLICATE_PENDING",
    "terminal": [],
    "transitions": [
        {"from": "DUPLICATE_PENDING", "event": "decide", "to": "DECIDED", "guard": "a person chose one of the actions"},
        {"from": "DUPLICATE_PENDING", "event": "apply", "to": "APPLIED", "guard": "decision.json is done"},
        {"from": "DECIDED", "event": "apply", "to": "APPLIED", "guard": "decision.json is done"},
        {"from": "DECIDED", "event": "refuse", "to": "DUPLICATE_PENDING", "guard": "the decision cannot be carried out"},
        {"from": "APPLIED", "event": "hold", "to": "DUPLICATE_PENDING", "guard": "the file came once more"},
        {"from": "DECIDED", "event": "hold", "to": "DUPLICATE_PENDING", "guard": "the file came once more"}
    ],
    "invariants": [
        {"states": ["DECIDED"], "any": false, "why": "nothing is decided by nobody", "text": "action is filled and decided_by is filled and decided_at is filled", "checks": [{"column": "action", "is": "filled", "value": null}, {"column": "decided_by", "is": "filled", "value": null}, {"column": "decided_at", "is": "filled", "value": null}]}
    ]
}$machine$);
select ostinato.attach_machine('watchfolder_duplicate', 'watchfolder.duplicate', tenant_column => 'tenant_id');
